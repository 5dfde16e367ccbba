/// One step of a fan-out.
package enum FanOutStep: Sendable {
    /// Small sends of a group.
    case group(GroupStep)
    /// The next pages of a campaign at one service.
    case pages(PageStep)
}
