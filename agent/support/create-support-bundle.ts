import type { SupportPredicate } from '#bundles/formats/statements/predicates';
import { signSupport } from '#bundles/trust/reports/support';
import type { SigningKey } from '#bundles/trust/keys/key';
import { formatTime } from '#bundles/time';
import { VERSION } from '#bundles/version';
import type { SystemdOptions } from '../apply/host/host-options.ts';
import { runCommand } from '../apply/host/run-command.ts';
import { openCluster } from '../apply/kubernetes/create-kubernetes.ts';
import type { Config } from '../config/config.ts';
import { toFleetError } from '#bundles/errors';
import { examineNetwork } from '../observe/examine-network.ts';
import { examine, type Finding } from '../observe/examine.ts';
import { readHistory } from '../observe/read-history.ts';
import { readStatus } from '../observe/read-status.ts';
import { reportedLooks } from '../observe/reported-looks.ts';
import type { Agent } from '../store/agent.ts';
import { readOwned } from '../store/applied/inventory.ts';
import { readPackages } from '../store/applied/packages.ts';
import { fullName } from '../store/identity.ts';
import { readOutbox } from '../store/outbox/outbox.ts';
import { collectCluster } from './collect-cluster.ts';
import { collectHost } from './collect-host.ts';
import { knownSecrets } from './known-secrets.ts';
import { createRedactor } from './redact-value.ts';
import { type Section, writeSections } from './section.ts';

/** How a support bundle is made; built once at startup. */
export type SupportSources = { readonly config: Config; readonly env: NodeJS.ProcessEnv };

const OPERATIONS = 50;

/**
 * Makes a support bundle: what doctor, status and history say, unacknowledged events, versions, disks, journals of the units of our
 * packages and of the agent, and what the cluster says about our objects. Redacted, bounded and signed. Changes nothing here.
 * @param request the request of the office that it answers; null: an operator asked for it
 * @throws FleetError ABORTED, TOO_LARGE
 */
export const createSupportBundle = async (
  agent: Agent,
  key: SigningKey,
  { config, env }: SupportSources,
  request: string | null,
): Promise<Buffer> => {
  const { state, edge, identity, signal } = agent;
  const owned = readPackages(state).flatMap(({ assignment }) => readOwned(state, assignment));
  const units = owned.flatMap(({ key: name }) =>
    name.startsWith('unit:') ? name.slice('unit:'.length) : [],
  );
  const asked: SystemdOptions = { root: config.root, services: config.services, run: runCommand };
  const hasHost = config.targets.includes('host');
  const ofHost = hasHost ? [...new Set(units)].toSorted() : [];
  const inCluster = owned.filter(({ state: { apiVersion } }) => typeof apiVersion === 'string');
  const sections: readonly Section[] = [
    { path: 'doctor.json', content: await findings(agent, { config, env }), maxBytes: 64 << 10 },
    { path: 'status.json', content: readStatus(agent, config), maxBytes: 128 << 10 },
    { path: 'looks.json', content: reportedLooks(agent), maxBytes: 16 << 10 },
    { path: 'agent.json', content: { version: VERSION, node: process.version, config }, maxBytes: 16 << 10 },
    { path: 'operations.json', content: readHistory(state, OPERATIONS).operations, maxBytes: 64 << 10 },
    {
      path: 'events.ndjson',
      content: readOutbox(state)
        .map(({ line }) => `${line}\n`)
        .join(''),
      maxBytes: 128 << 10,
      keep: 'end',
    },
    ...(await collectHost(asked, ofHost, signal)),
    ...(config.targets.includes('kubernetes')
      ? await collectCluster(() => openCluster(config), inCluster, signal)
      : []),
  ];
  const redactor = createRedactor(await knownSecrets(agent, ofHost, { config, env, asked }));
  const { files, leftOut } = writeSections(sections, redactor);
  const predicate: SupportPredicate = {
    fleet: identity.fleet,
    agent: fullName(identity),
    request,
    time: formatTime(edge.now()),
    clockTrusted: edge.clockTrusted,
    bootId: edge.bootId,
    version: VERSION,
    critical: [],
  };
  const note = Buffer.from(leftOut.map((path) => `${path}\n`).join(''));
  const all = leftOut.length === 0 ? files : [...files, { path: 'left-out.txt', bytes: note }];
  return signSupport(all, predicate, key);
};

/** A check that fails as a whole is a finding, too: the bundle is for machines that are not in order. */
const findings = async (agent: Agent, { config, env }: SupportSources): Promise<readonly Finding[]> => {
  const safe = async (name: string, work: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> => {
    try {
      return await work();
    } catch (error) {
      agent.signal.throwIfAborted();
      const { code, message } = toFleetError(error);
      return [{ name, verdict: 'bad', message: `${code}: ${message}` }];
    }
  };
  return [
    ...(await safe('doctor', () => examine({ ...agent, config }))),
    ...(await safe('network', () => examineNetwork(agent, config, env))),
  ];
};
