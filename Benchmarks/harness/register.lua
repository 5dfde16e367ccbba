-- For wrk: PUT of a new registration each time, with the key that is named after `--`, on behalf of a user with three devices.
-- A run begins at a number of its own, so that none of its devices is known yet.
local number, path, headers = 0, "/api/registrations/benchmark-%09d", {}

function init(arguments)
    headers["Authorization"] = "Bearer " .. arguments[1]
    headers["Content-Type"] = "application/json"
    headers["Host"] = wrk.headers["Host"]
    number = tonumber(arguments[2])
end

function request()
    number = number + 1
    local body = string.format(
        '{"service":"apns","handle":"%064x","user":"registered%07d","tags":["city:%d","plan:%d"]}',
        number, math.floor(number / 3), number % 1000, number % 5
    )
    return wrk.format("PUT", string.format(path, number), headers, body)
end

function done(summary)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format('\n{"requests": %d, "failed": %d, "us": %d}\n', summary.requests, failed, summary.duration))
end
