import { satisfies, validRange } from 'semver';
import { defined } from '#bundles/defined';
import { objectRulesOf } from '#bundles/formats/bounds/object-rules';
import type { BundleAssignment, BundleConfig } from '#bundles/formats/bundle/config';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { writeOnlyNames } from '#bundles/formats/author-schema/write-only-names';
import { type Digest, digestOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { VERSION } from '#bundles/version';
import type { Agent } from '../../store/agent.ts';
import { noTarget } from '../../model/no-target.ts';
import { inOrder, TELL_PLATFORM_TEAM } from './order.ts';
import { type ResolvedInput, resolveInputs } from '#bundles/formats/site-values/resolve-inputs';
import type { PackageRef, ReleaseRef, TakenValues } from '../../store/applied/package-ref.ts';
import { type LocalValue, readLocalValues } from '../../store/local-values.ts';
import { readSiteValues } from '../../store/site-values.ts';
import { readTrustRow } from '../../store/trust.ts';
import type { Judged } from './accept-offer.ts';
import { answerTo, judgeLocal, type LocalVerdict, withLocal } from './local-values.ts';
import { firstOf } from '#bundles/formats/layout/first-of';

export type Wanted = {
  /** The desired release from now on; undefined before the first one. */
  readonly release: ReleaseRef | undefined;
  readonly bundles: readonly Bundle[];
  readonly packages: readonly PackageRef[];
};

/**
 * Determines the desired packages, with the current site values: those of the new release, or those of the previous one if
 * the rollout does not select this agent or there is no new release. Makes all checks before a byte is copied.
 * @throws FleetError NO_TARGET, AGENT_TOO_OLD, SITE_VALUES, NAME_CLASH, DEPENDENCY_*, WRONG_*, MISSING_BASE, or the error of
 *   reading a bundle
 */
export const desiredPackages = async (agent: Agent, judged: Judged): Promise<Wanted> => {
  const { accepted, offer } = judged;
  const before = readTrustRow(agent.state);
  const channel = accepted.site.agent.channel;
  const fresh = accepted.selected ? accepted.release : undefined;
  const release: ReleaseRef | undefined = fresh
    ? { ...channel, version: fresh.predicate.version }
    : before.desiredRelease;
  if (!release) return { release, bundles: [], packages: [] };
  const digests = fresh ? fresh.bundles.map(({ digest }) => digest) : before.desiredBundles;
  const { blobs, medium } = offer.source;
  // The medium comes first, so that its copies are verified even if the store has them. A registry is asked only for the rest.
  const source = medium ? firstOf(blobs, agent.state.blobs) : firstOf(agent.state.blobs, blobs);
  const bundles: Bundle[] = [];
  for (const digest of digests) bundles.push(await readBundle(source, digest, agent.signal));
  for (const bundle of bundles) checkBundle(agent, bundle, release);
  const { valuesDigest } = accepted.site;
  const values = accepted.site.values ?? readSiteValues(agent.state, valuesDigest);
  const locals = readLocalValues(agent.state).filter(
    (local) => !answerTo(values, agent.identity.agent, local),
  );
  return {
    release,
    bundles,
    packages: await packagesWith(agent, { release, bundles, values, valuesDigest, locals }),
  };
};

/** The content that packages of a release are determined from. */
export type Basis = {
  readonly release: ReleaseRef;
  readonly bundles: readonly Bundle[];
  readonly values: SiteValues;
  readonly valuesDigest: Digest;
  readonly locals: readonly LocalValue[];
};

/**
 * The desired packages, without their secrets.
 * @throws FleetError STORE_CORRUPT, SITE_VALUES
 */
export const packagesWith = async (agent: Agent, basis: Basis): Promise<readonly PackageRef[]> => {
  const { bundles, values, locals } = basis;
  const configs = bundles.map(({ config }) => config);
  const verdicts = await judgeLocal(configs, values, agent.identity, locals);
  const used = verdicts.filter(({ held }) => !held);
  const packages: PackageRef[] = [];
  for (const bundle of bundles) packages.push(...(await packagesOf(agent, bundle, basis, used)));
  checkNames(packages);
  inOrder(packages);
  return packages;
};

const checkBundle = (agent: Agent, { digest, kind, config }: Bundle, release: ReleaseRef): void => {
  const what = `bundle ${shortDigest(digest)}`;
  if (config.fleet !== agent.identity.fleet) {
    throw new FleetError(
      'WRONG_FLEET',
      `${what} is of fleet ${config.fleet}, and this machine belongs to ${agent.identity.fleet}`,
      { subject: digest, hint: TELL_PLATFORM_TEAM },
    );
  }
  if (formatChannel(config) !== formatChannel(release)) {
    throw new FleetError(
      'WRONG_CHANNEL',
      `${what} is for ${formatChannel(config)}, and its release is for ${formatChannel(release)}`,
      { subject: digest, hint: TELL_PLATFORM_TEAM },
    );
  }
  if (!agent.targets.some((target) => target.kind === kind)) {
    throw noTarget(what, kind, digest);
  }
  const needed = config.requirements.agent;
  if (needed !== undefined && !(validRange(needed) && satisfies(VERSION, needed))) {
    throw new FleetError('AGENT_TOO_OLD', `${what} needs agent ${needed}, this is ${VERSION}`, {
      hint: 'Update the agent first',
    });
  }
  checkDependencies(config);
};

const checkDependencies = ({ assignments }: BundleConfig): void => {
  const names = new Set(assignments.map(({ id }) => id));
  for (const { id, dependsOn } of assignments) {
    const absent = dependsOn.find((name) => !names.has(name));
    if (absent !== undefined) {
      throw new FleetError('DEPENDENCY_MISSING', `${id} depends on ${absent}, which is not in its bundle`, {
        hint: TELL_PLATFORM_TEAM,
      });
    }
  }
};

const packagesOf = async (
  agent: Agent,
  { digest, kind, config }: Bundle,
  { release, values, valuesDigest }: Basis,
  verdicts: readonly LocalVerdict[],
): Promise<readonly PackageRef[]> => {
  const name = agent.identity.agent;
  const document = withLocal(
    values,
    name,
    verdicts.map(({ local }) => local),
  );
  const inputs = Map.groupBy(await resolveInputs(config, document, name), ({ assignment }) => assignment);
  const localOf = (id: string): readonly LocalValue[] | undefined => {
    const taken = verdicts.filter(({ takenBy }) => takenBy.includes(id)).map(({ local }) => local);
    return taken.length > 0 ? taken : undefined;
  };
  const writeOnly = writeOnlyNames(config.siteInputs.schema);
  return config.assignments.map((it) =>
    defined({
      assignment: it.id,
      package: it.package,
      siteValues: valuesDigest,
      inputs: digestOf(
        canonicalBytes(
          (inputs.get(it.id) ?? []).map(({ assignment: _, value: __, ...field }) => field as Json),
        ),
      ),
      objectRules: digestOfRules(config, it),
      taken: takenOf(inputs.get(it.id) ?? [], writeOnly),
      local: localOf(it.id),
      kind,
      bundle: digest,
      layer: it.layer,
      blobs: it.blobs,
      path: it.path,
      dependsOn: it.dependsOn,
      critical: it.critical,
      release,
    }),
  );
};

/** Digest of the platform's rules for objects of a package; undefined if it has no such rules. */
export const digestOfRules = (
  config: Pick<BundleConfig, 'objectRules'>,
  assignment: BundleAssignment,
): Digest | undefined => {
  const rules = objectRulesOf(config, assignment);
  return rules && digestOf(canonicalBytes(rules));
};

const takenOf = (inputs: readonly ResolvedInput[], writeOnly: ReadonlySet<string>): TakenValues => {
  const values = Object.fromEntries(inputs.map(({ input, value }) => [input, value]));
  const hidden = Object.keys(values).filter((name) => writeOnly.has(name));
  return defined({
    digest: digestOf(canonicalBytes(values, 'doubles')),
    values,
    hidden: hidden.length > 0 ? hidden : undefined,
  });
};

const checkNames = (packages: readonly PackageRef[]): void => {
  const seen = new Set<string>();
  for (const { assignment } of packages) {
    if (seen.has(assignment)) {
      throw new FleetError('NAME_CLASH', `two packages of this release have the name ${assignment}`, {
        hint: TELL_PLATFORM_TEAM,
      });
    }
    seen.add(assignment);
  }
};
