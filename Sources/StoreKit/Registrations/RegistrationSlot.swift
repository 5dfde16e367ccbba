package import PushModel
package import Store

/// What a handle has one live registration for: native notifications, or a template.
///
/// The indexes of audiences have its ``number`` in place of the service's: those for templates stand apart from the others, so that
/// neither kind of send meets the rows of the other.
package struct RegistrationSlot: Hashable {
    package let pns: PushService
    /// The ``PushModel/DeviceTemplate/slot`` of its template; nil = for native notifications.
    package let template: String?

    package init(_ pns: PushService, template: String? = nil) {
        self.pns = pns
        self.template = template
    }

    package init(_ upsert: RegisterRequest.Upsert) { self.init(upsert.pns, template: upsert.template?.slot) }

    package init(_ row: ImportedRegistration) { self.init(row.pns, template: row.template?.slot) }

    /// Reads the columns `pns` and `template_slot`.
    package init(stored number: Int, template: String?) throws(StoreError) {
        self.init(try PushService(stored: number & (Self.templates - 1)), template: template)
    }

    /// Reads columns that may be null.
    package static func stored(_ number: Int?, _ template: String?) throws(StoreError) -> RegistrationSlot? {
        guard let number else { return nil }
        return try RegistrationSlot(stored: number, template: template)
    }

    /// Added to the number of a service, all of which are smaller.
    private static let templates = 64

    /// In the column `pns` of registrations and of their tags.
    package static func number(_ pns: PushService, _ kind: RegistrationKind) -> Int {
        kind == .native ? pns.number : pns.number + Self.templates
    }

    /// The condition of those for native notifications.
    package static let isNative = "pns < \(Self.templates)"

    package var kind: RegistrationKind { self.template == nil ? .native : .template }
    package var number: Int { Self.number(self.pns, self.kind) }

    /// All numbers of a kind, the least and the greatest.
    package static func numbers(of kind: RegistrationKind) -> (Int, Int) {
        kind == .native ? (0, self.templates - 1) : (self.templates, 2 * self.templates - 1)
    }
}
