import HTTP2Engine
import PushModel
import PushServices

extension HotPath {
    static let requestHeads = HotPath(name: "path and headers of a request", devices: Sample.devices) { times in
        let devices = Sample.batch().devices
        var head = HTTP2RequestHead()
        for _ in 0..<times {
            for index in 0..<devices.count {
                head.reset()
                head.describe(index, of: devices, job: Sample.job)
            }
        }
        return head.byteCount
    }

    static let answersOfAPNs = HotPath(name: "class of an answer, APNs", devices: Sample.devices) { times in
        let body = Array(#"{"reason":"Unregistered","timestamp":1700000000000}"#.utf8)
        return Self.dropped(HTTP2Response(status: 410, body: body), times: times, APNsAnswers.answer)
    }

    static let answersOfFCM = HotPath(name: "class of an answer, FCM", devices: Sample.devices) { times in
        let body = Array(
            """
            {"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[{"@type":\
            "type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}
            """.utf8
        )
        return Self.dropped(HTTP2Response(status: 404, body: body), times: times, FCMAnswers.answer)
    }

    private static func dropped(_ response: HTTP2Response, times: Int, _ read: (HTTP2Response) -> Answer) -> Int {
        var sum = 0
        for _ in 0..<times * Sample.devices where read(response).answer == .drop { sum &+= 1 }
        return sum
    }
}
