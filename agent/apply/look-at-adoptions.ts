import { toFleetError } from '#bundles/errors';
import type { Adoption } from '../model/target.ts';
import type { Agent } from '../store/agent.ts';
import { readKeysOfOthers, readOwned } from '../store/applied/inventory.ts';
import { readPackages } from '../store/applied/packages.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { sentenceOf } from '../store/outbox/sentence-of.ts';
import { findRunning } from './find-running.ts';
import { loadPackage } from './load-package.ts';

/** Existing objects that one package takes over, or may not; `error`: why they could not be read. */
export type PackageAdoptions = {
  readonly assignment: string;
  readonly adoptions: readonly Adoption[];
  readonly error?: { readonly code: string; readonly message: string };
};

/**
 * Lists what the packages of the accepted release find on the cluster without an owner of ours, and what a takeover would change. Writes
 * nothing. @param assignments empty for all @throws FleetError ABORTED, USAGE for an unknown package
 */
export const lookAtAdoptions = async (
  agent: Agent,
  assignments: readonly string[] = [],
): Promise<readonly PackageAdoptions[]> => {
  const { state, identity, targets, signal } = agent;
  const rows =
    assignments.length === 0
      ? readPackages(state)
      : assignments.map((assignment) => findRunning(agent, assignment));
  const found: PackageAdoptions[] = [];
  for (const { assignment, desired } of rows) {
    const target = targets.find(({ kind }) => kind === desired?.kind);
    if (!desired || !target?.adoptions) continue;
    checkAborted(signal);
    try {
      const wanted = await loadPackage(state, identity.agent, desired, signal);
      const taken = readKeysOfOthers(state, assignment);
      const adoptions = await target.adoptions(wanted, readOwned(state, assignment), taken, signal);
      found.push({ assignment, adoptions });
    } catch (cause) {
      checkAborted(signal);
      const error = toFleetError(cause);
      found.push({ assignment, adoptions: [], error: { code: error.code, message: sentenceOf(error) } });
    }
  }
  return found;
};
