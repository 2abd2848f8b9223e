import { toFleetError } from '#bundles/errors';
import { ROOTS_PATH } from '#bundles/formats/events/hub-api';
import { DAY_MS, formatTime } from '#bundles/time';
import { pollRegistry } from '../acquire/poll-registry.ts';
import type { Agent } from '../store/agent.ts';
import type { Examined } from '../model/target.ts';
import type { Config } from '../config/config.ts';
import { registryOf } from '../config/registry-of.ts';
import { findCertificate, isDueForRenewal, type OwnCertificate } from '../hub/certificate.ts';
import { openHub } from '../hub/hub-client.ts';
import { readRoot } from '../store/trust.ts';

const TIMEOUT_MS = 10_000;
const MAX_ROOTS_BYTES = 48 << 20;

/** Checks the configured registry and hub, and the certificate for the hub. Changes nothing. */
export const examineNetwork = async (
  agent: Agent,
  config: Config,
  env: NodeJS.ProcessEnv,
): Promise<readonly Examined[]> => [
  ...(config.registry === '' ? [] : [await registry(agent, config, env)]),
  ...(config.hub === '' ? [] : [await hub(agent, config, env), await certificate(agent)]),
];

const registry = async (agent: Agent, config: Config, env: NodeJS.ProcessEnv): Promise<Examined> => {
  const name = 'registry';
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  try {
    await using open = registryOf(config, env);
    if (!open) return { name, verdict: 'good', message: 'not used here' };
    const signal = AbortSignal.any([agent.signal, limit]);
    const { news } = await pollRegistry({ ...agent, signal }, open, config.hub === '');
    const what = news ? 'answers, and has something that was not accepted yet' : 'answers, nothing new';
    return { name, verdict: 'good', message: `${config.registry} ${what}` };
  } catch (error) {
    const { code, message } = toFleetError(error);
    const late = `${config.registry} does not answer within ${TIMEOUT_MS / 1000} s`;
    return { name, verdict: 'bad', message: limit.aborted ? late : `${code}: ${message}` };
  }
};

const hub = async ({ state, signal }: Agent, config: Config, env: NodeJS.ProcessEnv): Promise<Examined> => {
  const name = 'hub';
  const root = readRoot(state);
  if (!root) return { name, verdict: 'warning', message: 'no trust root yet, so no hub can be verified' };
  try {
    const options = { env, attempts: 1, patience: TIMEOUT_MS };
    await using client = openHub(config.hub, { authorities: root.agentCertificates }, options);
    await client.get(ROOTS_PATH, MAX_ROOTS_BYTES, signal);
    return { name, verdict: 'good', message: `${config.hub} answers, and is the fleet's` };
  } catch (error) {
    const { code, message } = toFleetError(error);
    return { name, verdict: 'bad', message: `${code}: ${message}` };
  }
};

export const judgeCertificate = (
  own: Pick<OwnCertificate, 'from' | 'to'>,
  now: Date,
): Omit<Examined, 'name'> => {
  const { from, to } = own;
  if (from > now) {
    const message = `is valid from ${formatTime(from)} on, and the clock of this machine says ${formatTime(now)}: set the clock`;
    return { verdict: 'bad', message };
  }
  if (to <= now) {
    const message = `ended on ${formatTime(to)}; the service asks for the next one when the hub answers`;
    return { verdict: 'bad', message };
  }
  const due = isDueForRenewal(own, now);
  const days = Math.floor((to.getTime() - now.getTime()) / DAY_MS);
  const message = `ends in ${days} days, on ${formatTime(to)}${due ? ': its renewal is due' : ''}`;
  return { verdict: due ? 'warning' : 'good', message };
};

const certificate = async ({ state, edge }: Agent): Promise<Examined> => {
  const name = 'certificate';
  try {
    const own = await findCertificate(state.directory);
    if (!own) {
      const message = 'none: enrol again with --hub and a token, or reports wait for a medium';
      return { name, verdict: 'bad', message };
    }
    return { name, ...judgeCertificate(own, edge.now()) };
  } catch (error) {
    return { name, verdict: 'bad', message: toFleetError(error).message };
  }
};
