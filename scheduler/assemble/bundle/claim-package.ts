import { debianPlace } from '#bundles/formats/bounds/debian-place';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { judgedPart } from '../../model/site-input.ts';
import type { AssembledPackage } from './assembled-package.ts';

/** A package and whether it is kept from an earlier release. */
export type Claimant = { readonly made: AssembledPackage; readonly kept: boolean };

/** Names and site inputs of the package of an assignment in the last release; undefined if there is none, or if it was another workspace's. */
export type Before = (made: AssembledPackage) => Promise<Owned | undefined>;

type Owned = Pick<AssembledPackage, 'owns' | 'siteInputs'>;

/**
 * Finds the packages that claim a name which belongs to another package of the bundle: an object, a path, a unit, or a site input
 * with another schema. A site would refuse a bundle with both. A name belongs to the package that had it in the last release; a new
 * one to the platform's own package, then to the registration that is first by name. The names of workloads and targets, which
 * their authors choose, decide only between packages of one registration.
 * @returns OBJECT_CLASH by package; a refused package claims nothing else either
 */
export const refuseConflictingClaims = async (
  claimants: readonly Claimant[],
  before: Before,
): Promise<ReadonlyMap<AssembledPackage, FleetError>> => {
  const sorted = claimants.toSorted(byPrecedence);
  const names = groupBy(sorted, ({ made }) =>
    made.owns.map((name) => ({ key: debianPlace(name), claim: { name } })),
  );
  const inputs = groupBy(sorted, ({ made }) =>
    made.siteInputs.map(({ input, schema }) => ({ key: input, claim: { name: judgedPart(schema) } })),
  );
  const refused = new Map<AssembledPackage, FleetError>();
  for (const [place, claims] of names) {
    const owner = await ownerOf(claims, async ({ made }) =>
      ((await before(made))?.owns ?? []).some((name) => debianPlace(name) === place),
    );
    for (const { made, name } of claims)
      if (made !== owner.made && !refused.has(made)) refused.set(made, nameClash(made, name, owner, place));
  }
  for (const [input, claims] of inputs) {
    if (claims.every(({ name }) => name === claims[0]?.name)) continue;
    const owner = await ownerOf(claims, async ({ made, name }) =>
      ((await before(made))?.siteInputs ?? []).some(
        (one) => one.input === input && judgedPart(one.schema) === name,
      ),
    );
    for (const { made, name } of claims)
      if (name !== owner.name && !refused.has(made)) refused.set(made, inputClash(made, input, owner));
  }
  return refused;
};

type Claim = Claimant & { readonly name: string };

/** Only keys that more than one package claims. */
const groupBy = (
  claimants: readonly Claimant[],
  keysOf: (one: Claimant) => readonly { readonly key: string; readonly claim: { readonly name: string } }[],
): ReadonlyMap<string, readonly Claim[]> => {
  const groups = new Map<string, Claim[]>();
  for (const one of claimants) {
    for (const { key, claim } of keysOf(one)) {
      const group = groups.get(key) ?? [];
      if (group.at(-1)?.made !== one.made) group.push({ ...one, ...claim });
      groups.set(key, group);
    }
  }
  return new Map([...groups].filter(([, group]) => group.length > 1));
};

/** @param hadIt whether the package of the last release had the name */
const ownerOf = async (
  claims: readonly Claim[],
  hadIt: (claim: Claim) => Promise<boolean>,
): Promise<Claim> => {
  for (const claim of claims) if (claim.kept || (await hadIt(claim))) return claim;
  return claims[0] as Claim;
};

const byPrecedence = (a: Claimant, b: Claimant): number =>
  Number(b.kept) - Number(a.kept) ||
  compareBytes(registrationOf(a.made), registrationOf(b.made)) ||
  compareBytes(a.made.id, b.made.id);

const registrationOf = ({ assignment }: AssembledPackage): string => assignment.target.registration ?? '';

/** Names the owner by what the platform calls it; packages of one registration by their own names. */
const describeClaimant = ({ made }: Claimant, other: AssembledPackage): string => {
  const { registration, workspace, workload } = made.assignment.target;
  if (registrationOf(made) === registrationOf(other)) return made.id;
  const team = workspace === '' ? '' : ` of workspace ${workspace}`;
  return registration === undefined && team === ''
    ? `the platform (${made.id})`
    : `${registration ?? workload}${team}`;
};

const nameClash = (made: AssembledPackage, name: string, owner: Claim, place: string): FleetError => {
  const whose = describeClaimant(owner, made);
  return clash(
    made,
    owner.name === name
      ? `${made.id} brings ${name}, which belongs to ${whose}`
      : `${made.id} brings ${name}, and ${owner.name} belongs to ${whose}; they are one file on every host: ${place}`,
    'Use another name: only one package of a cluster type can own it, and the one that had it first does',
  );
};

const inputClash = (made: AssembledPackage, input: string, owner: Claim): FleetError =>
  clash(
    made,
    `${made.id} gives the site input ${input} another schema than ${describeClaimant(owner, made)}, to which it belongs`,
    'Use the same schema, or rename the input',
  );

const clash = (made: AssembledPackage, message: string, hint: string): FleetError =>
  new FleetError('OBJECT_CLASH', message, { subject: made.id, at: made.assignment.target.at, hint });
