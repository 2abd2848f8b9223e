import { shortDigest } from '#bundles/digest';
import type { AgentFacts, ContactFacts, PackageFacts, Verdict } from '../model/agent-facts.ts';
import type { Contact } from '../store/contact.ts';
import { describeSiteHold } from '../store/site-hold.ts';
import type { PackageState, Status } from './read-status.ts';

/** Selects from a status what is shown outside of the agent. @param version of the program */
export const agentFacts = (status: Status, version: string): AgentFacts => {
  const { fleet, agent, channel, release, lease, packages, outbox, look, hub, registry } = status;
  return {
    fleet,
    agent,
    version,
    channel,
    release: release && {
      version: release.version,
      expires: lease && lease.expires > release.expires ? lease.expires : release.expires,
      stale: status.stale !== null,
    },
    packages: packages.map(packageFacts),
    lookedAt: look,
    outbox: { events: outbox.events, bytes: outbox.bytes },
    hub: contactFacts(hub),
    registry: contactFacts(registry),
    verdict: verdictOf(status),
    waitsFor: waitsFor(status),
  };
};

const HELD: ReadonlySet<string> = new Set(['PRUNE_BUDGET', 'REMOVAL_WAITS']);

/** Failed: a package failed. Waiting: something is held back, differs, cannot be read or was not looked at; or no release was ever accepted. */
export const verdictOf = ({
  packages,
  release,
  service,
  diskFull,
}: Pick<Status, 'packages' | 'release' | 'service' | 'diskFull'>): Verdict => {
  if (packages.some(({ status }) => status === 'failed' || status === 'broken')) return 'Failed';
  const needsLook = packages.some(
    ({ status, code, drift, unreadable, isOld }) =>
      isOld ||
      status === 'skipped' ||
      (code !== null && HELD.has(code)) ||
      drift.length > 0 ||
      unreadable !== null,
  );
  return needsLook || diskFull || service.todo !== null || release === null ? 'Waiting' : 'Ready';
};

const packageFacts = (one: PackageState): PackageFacts => ({
  name: one.assignment,
  status: one.status,
  since: one.since,
  package: one.runs && shortDigest(one.runs.package),
  release: one.runs?.release ?? null,
  wanted: one.wanted?.release ?? null,
  drift: one.drift.length,
  message: describePackage(one),
});

const describePackage = ({ code, message, unreadable }: PackageState): string | null =>
  (code !== null && message !== null ? `${code}: ${message}` : (message ?? code)) ?? unreadable;

const contactFacts = (contact: Contact | null): ContactFacts | null =>
  contact && {
    last: contact.good,
    failing: contact.failing && { since: contact.failing.since, code: contact.failing.code },
  };

const waitsFor = (status: Status): readonly string[] => {
  const { release, diskFull, held, stale, parts, window, reboot, packages, upgrade } = status;
  const lines = [
    release === null ? 'the first release: none was accepted here yet' : undefined,
    diskFull ? 'DISK_FULL: room for the state of the agent' : undefined,
    held && `the end of a hold since ${held.since}, ${describeSiteHold(held)}`,
    ...(stale?.causes ?? []).map(({ why, todo }) => `${why}; ${todo}`),
    parts && `${parts.missing.length} of ${parts.count} parts of a set`,
    window === null ? undefined : `the window that opens at ${window}`,
    reboot.required && `a reboot, required since ${reboot.required.since}: ${reboot.required.waits}`,
    upgrade,
    describeContact('registry', status.registry),
    describeContact('hub', status.hub),
    ...packages.map((one) => {
      const says = whyNotReady(one);
      return says && `${one.assignment}: ${says}`;
    }),
  ];
  return lines.filter((line) => typeof line === 'string');
};

/** Why a package is not as its release wants it; null if it is, as far as verdictOf knows. */
const whyNotReady = (one: PackageState): string | null => {
  const { status, code, drift, unreadable, isOld } = one;
  if (status !== 'healthy' || (code !== null && HELD.has(code))) return describePackage(one);
  if (drift.length > 0)
    return drift.length === 1
      ? '1 object differs from the package'
      : `${drift.length} objects differ from the package`;
  return unreadable ?? (isOld ? 'it was not compared with the host or cluster lately' : null);
};

const describeContact = (name: string, contact: Contact | null): string | undefined =>
  contact?.failing
    ? `the ${name}, failing since ${contact.failing.since}: ${contact.failing.code}: ${contact.failing.message}`
    : undefined;
