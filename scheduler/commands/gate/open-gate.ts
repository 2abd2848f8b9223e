import { Flags } from '@oclif/core';
import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { hasNoSites, openHub } from '../../hub/open-hub.ts';
import { readPromotion } from '../../hub/promote/facts/link.ts';
import { openChanges } from '../../hub/promote/facts/read-changes.ts';
import type { GateHub } from '../../hub/promote/gate/gate-hub.ts';
import { parseCandidate } from '../../hub/promote/gate/assess.ts';
import { storeExists } from '../../hub/store/open-store.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import type { Promotion } from '../../model/promotion.ts';
import { type Configuration, readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { personFlags, personOf } from '../person-flags.ts';

const { config, platform, cache, map, keys, layout, db } = configurationFlags;

/** Flags of commands about a link of the chain. */
export const linkFlags = { config, platform, cache, map, keys, layout, db };

/** Flags of commands about a candidate at a link. */
export const gateFlags = {
  ...linkFlags,
  candidate: Flags.string({
    description: 'Digest of a candidate of the environment before [default: the newest that it released]',
  }),
};

/** Person and reason of a decision. */
export const decisionFlags = {
  person: Flags.string({ description: 'Person who decides [default: the name of this user]' }),
  reason: personFlags.reason,
};

/**
 * Inputs of a gate: keys, layout, the chain with its policies, and the hub's database if one is configured and a site was ever
 * enrolled.
 */
export type OpenGate = AsyncDisposable & { readonly hub: GateHub; readonly promotion: Promotion };

/** @throws FleetError USAGE for a missing setting; MEDIUM_MISSING if there is no layout; the codes of openHub, openKeyDirectory and readPromotion */
export const openGate = async (
  configuration: Configuration,
  signal: AbortSignal,
  sources?: Sources,
): Promise<OpenGate> => {
  // Opened to refuse a wrong path: a missing layout would look like one without releases and audit log.
  await openLayout(requireSetting(configuration, 'layout'));
  const promotion = await readPromotion(
    platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal }),
    sources,
  );
  const readChanges = openChanges(configuration, { env: process.env, cwd: process.cwd() })(true);
  if (
    configuration.db !== undefined &&
    ((await storeExists(configuration.db)) || !(await hasNoSites(configuration)))
  ) {
    const hub = await openHub(configuration);
    return {
      hub: { ...hub, readChanges },
      promotion,
      [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
    };
  }
  const directory = await openKeyDirectory(requireSetting(configuration, 'keys'));
  const layout = requireSetting(configuration, 'layout');
  const hub = { keys: directory, layout, store: undefined, readChanges };
  return { hub, promotion, [Symbol.asyncDispose]: async () => {} };
};

type DecisionFlags = Parameters<typeof readConfiguration>[0] & {
  readonly candidate?: string | undefined;
  readonly person?: string | undefined;
  readonly reason: string;
};

/** A decision of a person about an environment, as the functions of hub/promote/decide take it. */
export type Decision = {
  readonly environment: string;
  readonly candidate: Digest | undefined;
  readonly person: string;
  readonly reason: string;
  readonly now: Date;
  readonly signal: AbortSignal;
};

/** Runs `decide` with the gate of the configuration and the decision that the flags describe. @throws FleetError as openGate */
export const decideAbout = async <T>(
  environment: string,
  flags: DecisionFlags,
  { now, signal }: Pick<Decision, 'now' | 'signal'>,
  decide: (gate: OpenGate, decision: Decision) => Promise<T>,
): Promise<T> => {
  await using gate = await openGate(await readConfiguration(flags, process.cwd()), signal);
  const candidate = parseCandidate(flags.candidate);
  const { reason } = flags;
  return await decide(gate, { environment, candidate, person: personOf(flags), reason, now, signal });
};
