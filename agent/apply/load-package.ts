import { defined } from '#bundles/defined';
import { packageDigest } from '#bundles/formats/bundle/package-digest';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob } from '#bundles/formats/layout/verified';
import type { BundleAssignment } from '#bundles/formats/bundle/config';
import { openPackage } from '../secrets/open-package.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import { readIdentity } from '../store/identity.ts';
import { isOwnEdit, type LocalValue } from '../store/local-values.ts';
import { readSiteValues } from '../store/site-values.ts';
import type { State } from '../store/state.ts';
import { objectRulesOf } from '#bundles/formats/bounds/object-rules';
import { boundsOf } from '#bundles/formats/bounds/bounds-of';
import { resolveInputs } from '#bundles/formats/site-values/resolve-inputs';
import { withLocal } from '../acquire/offers/local-values.ts';
import type { DesiredPackage, Tenant } from '../model/target.ts';
import { filesOf, packageFiles, unpackedLayer } from '../store/unpacked-layer.ts';

/**
 * Loads a package from the store and verifies it again: the layer by its digest, the files by the package's digest.
 * @param agent name of the agent, whose own values override those of the site
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, STORE_CORRUPT, SITE_VALUES, SECRET_UNREADABLE, WRONG_SITE, or the error of
 *   unpacking the layer
 */
export const loadPackage = async (
  state: State,
  agent: string,
  ref: PackageRef,
  signal: AbortSignal,
): Promise<DesiredPackage> => {
  const { bundle, files: layer } = await unpackedLayer(state, ref, signal);
  const files = packageFiles(layer, ref);
  const actual = packageDigest([...files].map(([path, bytes]) => ({ path, bytes })));
  if (actual !== ref.package) {
    throw new FleetError(
      'DIGEST_MISMATCH',
      `the layer of ${ref.assignment} holds package ${shortDigest(actual)}, the bundle says ${shortDigest(ref.package)}`,
      { subject: ref.package, hint: 'Tell the platform team: the signed bundle does not match its layer' },
    );
  }
  const values = withLocal(readSiteValues(state, ref.siteValues), agent, signedLocals(state, ref));
  const siteInputs = await resolveInputs(bundle.config, values, agent, ref.assignment);
  const known = bundle.config.assignments.find(({ id }) => id === ref.assignment);
  const opened = await openPackage(state, ref, files, known?.namespace, signal);
  return defined({
    assignment: ref.assignment,
    package: ref.package,
    siteValues: ref.siteValues,
    files: opened.files,
    blobs: ref.blobs ? only(state.blobs, ref.blobs) : undefined,
    secrets: opened.secrets,
    bounds: boundsOf(known),
    rules: known?.rules,
    objectRules: known && objectRulesOf(bundle.config, known),
    tenant: tenantOf(known, bundle.config.assignments),
    siteInputs,
  });
};

const tenantOf = (
  known: BundleAssignment | undefined,
  all: readonly BundleAssignment[],
): Tenant | undefined => {
  if (!known || boundsOf(known) === 'platform') return undefined;
  const { workspace = '' } = known;
  const isOwn = (one: BundleAssignment): boolean => (one.workspace ?? '') === workspace;
  const namespaces = (some: readonly BundleAssignment[]): ReadonlySet<string> =>
    new Set(some.flatMap(({ namespace }) => namespace ?? []));
  const own = namespaces(all.filter(isOwn));
  return { workspace, foreign: namespaces(all.filter((one) => !isOwn(one))).difference(own) };
};

/** @throws FleetError STORE_CORRUPT for a local value that this agent did not sign */
const signedLocals = (state: State, { assignment, local = [] }: PackageRef): readonly LocalValue[] => {
  if (local.length === 0) return local;
  const identity = readIdentity(state);
  const foreign = local.find((one) => !isOwnEdit(identity, one));
  if (!foreign) return local;
  throw new FleetError(
    'STORE_CORRUPT',
    `the local value ${foreign.edit.name} of ${assignment} in the store is not signed by this agent`,
    { subject: assignment, hint: `Set it again: fleet-agent values set ${foreign.edit.name}=...` },
  );
};

/**
 * A package as far as its bundle says, without site values and secrets: they go into its content and name nothing of it, and may be
 * what it fails for. The package's digest is not compared. @throws FleetError MISSING_BLOB, or the error of unpacking the layer
 */
export const loadWithoutValues = async (
  state: State,
  ref: PackageRef,
  signal: AbortSignal,
): Promise<DesiredPackage> => ({
  assignment: ref.assignment,
  package: ref.package,
  siteValues: ref.siteValues,
  files: await filesOf(state, ref, signal),
  siteInputs: [],
});

/** Restricts the store to the blobs that the bundle names for a package; others are not pinned and may be collected. */
const only = (store: BlobSource, digests: readonly Digest[]): BlobSource => ({
  name: store.name,
  size: async (digest) => (digests.includes(digest) ? await store.size(digest) : undefined),
  open: async (digest, signal) => {
    if (!digests.includes(digest))
      throw missingBlob(digest, 'the blobs that the bundle names for the package');
    return await store.open(digest, signal);
  },
  path: store.path,
});
