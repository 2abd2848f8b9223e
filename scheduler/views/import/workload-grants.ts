import { parseDocument } from 'yaml';
import { compareBytes } from '#bundles/digest';
import { ALLOW_WORKLOADS } from '../../model/bounds.ts';
import type { Platform } from '../../model/model.ts';

/** Names of Workloads by the registration that brings them, where they are not its own name. */
export type WorkloadGrants = ReadonlyMap<string, readonly string[]>;

/**
 * The names that applications of a control plane chose. Kalypso's selectors match any of them; in our form a selector may mean only a
 * name that the platform gave. @param platforms each environment
 */
export const workloadGrants = (platforms: readonly Platform[]): WorkloadGrants => {
  const found = new Map<string, Set<string>>();
  for (const { registration, workload } of platforms.flatMap(({ targets }) => targets))
    if (registration !== undefined && workload !== registration)
      found.set(registration, (found.get(registration) ?? new Set()).add(workload));
  return new Map([...found].map(([name, workloads]) => [name, [...workloads].toSorted(compareBytes)]));
};

/** The text of a WorkloadRegistration with the annotation that gives it these names; comments are kept. */
export const grantWorkloads = (text: string, workloads: readonly string[]): string => {
  const document = parseDocument(text);
  document.setIn(['metadata', 'annotations', ALLOW_WORKLOADS], workloads.join(', '));
  return String(document);
};
