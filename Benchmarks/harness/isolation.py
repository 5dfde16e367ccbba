"""A push service that is down, and the others."""

import time

import registrations
from load import percentile
from messages import MESSAGE
from processes import Failure


class Isolation:
    """The fan-out to APNs beside one to FCM, compared with the ones before and after it that are alone."""

    def __init__(self, figures):
        self.figures = figures
        self.installation = figures.installation
        self.devices = int(registrations.APNS_DEVICES * figures.options.scale)
        self.phones = int(registrations.FCM_DEVICES * figures.options.scale)

    def measure(self):
        self._fan_out()
        alone = [self._fan_out()]
        quiet = self.installation.memory()
        rates, peaks = {}, []
        for name, how in [("healthy", "200"), ("503", "503"), ("silent", "silent")]:
            rates[name], memory = self._beside_fcm(how)
            peaks.append(max(memory.values()))
            growth = ", ".join(f"{process} {memory[process] - quiet[process]:+.0f} MB" for process in memory)
            self.figures.say(f"  FCM {how}: memory against the fan-out alone: {growth}")
            alone.append(self._fan_out())
        figures = {
            f"isolation_{name}": rate / ((alone[place] + alone[place + 1]) / 2)
            for place, (name, rate) in enumerate(rates.items())
        }
        return {**figures, "isolation_memory_mb": max(peaks), "isolation_alone_per_s": percentile(alone, 0.5)}

    def _fan_out(self):
        return self.figures.fan_out_to(registrations.EVERYONE, "apns", self.devices)

    def _beside_fcm(self, how):
        """The rate at APNs and the memory while FCM answers so; ends when FCM's job has, for it answers again then."""
        installation, phones = self.installation, self.phones
        installation.receiver.answer_fcm(how)
        installation.receiver.reset()
        job = installation.api.send({"to": {"tag": registrations.ANDROID}, "services": ["fcm"], **MESSAGE})
        try:
            end = time.monotonic() + 30
            while installation.receiver.counts()["fcm"] == 0:
                if time.monotonic() > end:
                    raise Failure("nothing was sent to FCM within 30 s")
                time.sleep(0.001)
            rate = self._fan_out()
            memory = installation.memory()
            tried = installation.receiver.counts()["fcm"]
            open_devices = phones - installation.api.job(job)["totals"]["accepted"]
        finally:
            installation.receiver.answer_fcm("200")
        totals = installation.api.wait_until_final(job)["totals"]
        if totals["accepted"] != phones:
            raise Failure(f"{phones} devices of FCM were meant; the job says {totals}")
        self.figures.say(
            f"  FCM {how}: {open_devices} of {phones} devices were still open when APNs' were done, "
            f"{tried} were tried meanwhile"
        )
        return rate, memory
