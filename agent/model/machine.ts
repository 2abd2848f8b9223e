/** One reason why a host has to be rebooted. The key has the versions in it, so that it is the same for as long as the reason is. */
export type RebootCause = {
  /** 'kernel:6.1.0-28-amd64', 'package:libc6=2.36-9+deb12u10', 'microcode:0x42', 'file:<digest>' */
  readonly key: string;
  /** One sentence part for people: 'kernel 6.1.0-28-amd64 is installed, and 6.1.0-27-amd64 runs'. */
  readonly message: string;
};

/** The system's answer about reboots and restarts. Without causes no reboot is required. */
export type RebootNeed = {
  /** By key, at most MAX_CAUSES. */
  readonly causes: readonly RebootCause[];
  /** Units that still use libraries of before an upgrade, as needrestart names them. */
  readonly services: readonly string[];
};

/** The machine of a host target. */
export type Machine = {
  /** Differs after each boot, also of a system container, which has the boot id of its kernel. undefined: it cannot be read. */
  readonly boot: () => string | undefined;
  /** Reads whether a reboot is required. Changes nothing; what cannot be asked is not in the answer. @throws FleetError ABORTED */
  readonly rebootNeed: (signal: AbortSignal) => Promise<RebootNeed>;
  /** Reads the work that a reboot would interrupt now, such as that of apt: a sentence part after "waits for"; undefined if nothing is known. @throws FleetError ABORTED */
  readonly atWork: (signal: AbortSignal) => Promise<string | undefined>;
  /** Asks the system to reboot, and returns when it has agreed. @throws FleetError REBOOT_REFUSED, ABORTED */
  readonly reboot: (signal: AbortSignal) => Promise<void>;
};

/** Causes, and services, that are kept; a host has a handful of them. */
export const MAX_CAUSES = 100;

const MAX_CAUSES_NAMED = 8;

/** 'kernel 6.1.0-28-amd64 is installed, and 6.1.0-27-amd64 runs; and 3 more' */
export const formatCauses = (causes: readonly Pick<RebootCause, 'message'>[]): string =>
  [
    ...causes.slice(0, MAX_CAUSES_NAMED).map(({ message }) => message),
    ...(causes.length > MAX_CAUSES_NAMED ? [`and ${causes.length - MAX_CAUSES_NAMED} more`] : []),
  ].join('; ');
