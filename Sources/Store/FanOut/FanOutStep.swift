/// One step of a fan-out.
package enum FanOutStep: Sendable {
    /// Small sends of a group.
    case group(GroupStep)
    /// The next pages of a campaign at one service.
    case pages(PageStep)
    /// The only send of the message is given up, as the hub took nothing of it; where it has batches, those are brought to their end.
    case abandon(reason: String)
}
