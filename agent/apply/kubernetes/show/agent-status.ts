import { cutText } from '#cli/cut-text';
import type { AgentFacts, ContactFacts, PackageFacts } from '../../../model/agent-facts.ts';

/** Limits of what one object holds. The hub, `fleet-agent status` and metrics have all of it. */
const MAX_PACKAGES = 200;
const MAX_WAITS = 20;
const MAX_TEXT = 512;

/** The status of the FleetAgent object, without fields that are null. @param since time of the last change of the verdict */
export const agentStatus = (facts: AgentFacts, since: string): object => {
  const { packages, waitsFor, release, outbox, verdict } = facts;
  const healthy = packages.filter(({ status }) => status === 'healthy').length;
  return withoutNull({
    agent: facts.agent,
    fleet: facts.fleet,
    channel: facts.channel,
    version: facts.version,
    release: release && { version: release.version, expires: release.expires, stale: release.stale },
    healthy: `${healthy}/${packages.length}`,
    packages: packages.slice(0, MAX_PACKAGES).map(packageStatus),
    morePackages: packages.length > MAX_PACKAGES ? packages.length - MAX_PACKAGES : null,
    lookedAt: facts.lookedAt,
    outbox,
    hub: facts.hub && contactStatus(facts.hub),
    registry: facts.registry && contactStatus(facts.registry),
    waitsFor: waitsFor.slice(0, MAX_WAITS).map(cut),
    conditions: [
      {
        type: 'Ready',
        status: verdict === 'Ready' ? 'True' : 'False',
        reason: verdict,
        message: cut(waitsFor[0] ?? `${healthy} of ${packages.length} packages are healthy`),
        lastTransitionTime: since,
      },
    ],
  });
};

const packageStatus = ({ message, ...facts }: PackageFacts): object =>
  withoutNull({ ...facts, message: message === null ? null : cut(message) });

const contactStatus = ({ last, failing }: ContactFacts): object =>
  withoutNull({ last, failingSince: failing?.since });

const cut = (text: string): string => (text.length > MAX_TEXT ? `${cutText(text, MAX_TEXT - 1)}…` : text);

const withoutNull = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
