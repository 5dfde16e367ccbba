-- For wrk: GET with another header Authorization each time, the lines of the file that is named after `--`, in turn.
local requests, place = {}, 0

function init(arguments)
    for line in io.lines(arguments[1]) do
        requests[#requests + 1] = wrk.format("GET", nil, { Host = wrk.headers["Host"], Authorization = line })
    end
end

function request()
    place = place % #requests + 1
    return requests[place]
end

function done(summary)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format('\n{"requests": %d, "failed": %d, "us": %d}\n', summary.requests, failed, summary.duration))
end
