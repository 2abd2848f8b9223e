import { type FleetError, toFleetError } from '#bundles/errors';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import type { BundleInput } from '../../assemble/bundle/bundle-input.ts';
import { checkSources, checkTools } from '../../assemble/candidate/check-candidate.ts';
import { isOwn } from '../../assemble/candidate/given-candidate.ts';
import { listSources } from '../../assemble/candidate/list-sources.ts';
import { pinnedRenderers } from '../../assemble/candidate/pinned-renderers.ts';
import { type ContentAccess, contentAccess } from '../../assemble/content/content-access.ts';
import { noContents } from '../../assemble/content/no-contents.ts';
import type { EnvironmentMemory } from '../../assemble/incremental/build-memory.ts';
import { internApplications } from '../../assemble/incremental/start-build.ts';
import { type Applications, loadApplications } from '../../load/applications/load-applications.ts';
import { openTools } from '../../load/applications/tools/find-tool.ts';
import { type PinnedTools, pinTools } from '../../load/applications/tools/pin-tools.ts';
import { openCharts } from '../../load/charts/charts.ts';
import { noCharts } from '../../load/charts/no-charts.ts';
import { NO_LOCKS } from '../../model/content-locks.ts';
import type { Platform, RenderedPackage } from '../../model/model.ts';
import { withPlace } from '../../model/with-place.ts';
import type { EnvironmentInput } from '../environment-input.ts';

type Input = Pick<EnvironmentInput, 'sources' | 'charts' | 'contents' | 'candidate' | 'lastTools' | 'env'>;

type Rendered = {
  readonly platform: Platform;
  readonly packages: readonly RenderedPackage[];
  /** Unchanged applications become the objects of the build before. */
  readonly memory: EnvironmentMemory | undefined;
};

export type ReadApplications = {
  readonly applications: Applications;
  /** Throws the error that holds the package. */
  readonly applicationOf: BundleInput['applicationOf'];
  /** Of the platform and the applications. */
  readonly sources: readonly CandidateSource[];
  readonly contents: ContentAccess;
};

/**
 * Reads the applications that rendered packages name, and renders those that are charts or kustomizations. An application that cannot be
 * read holds its own packages.
 * @throws FleetError CANDIDATE_MISMATCH if they are not what the given candidate names; ABORTED, DISK_FULL
 */
export const readApplications = async (
  input: Input,
  { platform, packages, memory }: Rendered,
  signal: AbortSignal,
): Promise<ReadApplications> => {
  const { candidate: given, charts = openCharts(noCharts) } = input;
  const again = given && isOwn(given, platform.environment) ? given : undefined;
  // A candidate that is built again is compared with the exact versions below.
  const pinned: PinnedTools = again ? () => undefined : pinnedRenderers(given, platform, input.lastTools);
  const tools = pinTools(openTools(input.env ?? process.env, signal), pinned);
  const applications = await loadApplications(
    { platform, sources: input.sources, packages, tools, charts },
    signal,
  );
  const { contents = noContents } = input;
  const { contentLocks: locks = NO_LOCKS, imageLocks } = platform;
  const { sources, whyNot } = listSources(
    [...platform.sources, ...applications.snapshots],
    packages.map(({ assignment }) => assignment.target),
  );
  if (given) {
    const why = whyUnread(platform, packages, applications);
    checkSources(given, sources, platform.environment, again !== undefined, why);
  }
  if (again) checkTools(again, applications.tools);
  const listed: BundleInput['applicationOf'] = (rendered) => {
    const { target } = rendered.assignment;
    const wrong = whyNot(target);
    if (wrong) throw withPlace(wrong, target.at, target.name);
    return applications.of(rendered);
  };
  return {
    applications,
    applicationOf: memory ? internApplications(memory, listed) : listed,
    sources,
    contents: contentAccess({ contents, charts, tools, locks, imageLocks }, signal),
  };
};

/** Error for a role of the candidate whose files are missing: an ordinary build would hold its assignments with this error. */
const whyUnread =
  (
    { heldWorkloads = [] }: Platform,
    packages: readonly RenderedPackage[],
    applications: Pick<Applications, 'of'>,
  ) =>
  (role: string): FleetError | undefined => {
    const [, kind, name] = /^([^/]+)\/(.*)$/.exec(role) ?? [];
    if (kind === 'workload')
      return heldWorkloads.find(({ registration }) => registration === name)?.errors[0];
    if (kind !== 'application') return undefined;
    const rendered = packages.find(({ assignment }) => assignment.target.name === name);
    return rendered && errorOf(() => applications.of(rendered));
  };

const errorOf = (step: () => unknown): FleetError | undefined => {
  try {
    step();
    return undefined;
  } catch (error) {
    return toFleetError(error);
  }
};
