import { defined } from '#bundles/defined';
import type { Candidate, Declared } from '#bundles/formats/candidate';
import { compareBytes, type Digest, parseDigest } from '#bundles/digest';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import { VERSION } from '#bundles/version';
import type { Applications } from '../../load/applications/load-applications.ts';
import type { BuiltBundle } from '../bundle/built-bundle.ts';
import { placeOf } from '../../load/platform/declarations.ts';
import type { PinnedChart } from '../../load/charts/charts.ts';
import type { Platform, SourceSnapshot } from '../../model/model.ts';

export type CandidateInput = {
  readonly platform: Platform;
  readonly sources: readonly CandidateSource[];
  readonly bundles: readonly BuiltBundle[];
  readonly applications: Pick<Applications, 'tools' | 'charts'>;
  readonly parent: Digest | undefined;
};

/** Describes the inputs of a build, sorted: equal sources, images, charts and tools give the same document. */
export const createCandidate = ({
  platform,
  sources,
  bundles,
  applications,
  parent,
}: CandidateInput): Candidate => {
  const images = new Map<string, Digest>();
  for (const { entry } of bundles.flatMap((it) => it.images)) {
    for (const name of entry.names ?? []) images.set(name, entry.digest);
  }
  const fetched = bundles.flatMap((it) => it.fetched);
  const files = new Map(
    fetched.flatMap(({ from, digest }) => (from && 'url' in from ? [[from.url, digest] as const] : [])),
  );
  const isDecidedByPast = bundles.some(({ held }) =>
    held.some(({ error }) => RELEASE_DEPENDENT.has(error.code)),
  );
  const kept = bundles.flatMap(({ clusterType, held, previous }) => [
    ...(previous !== undefined && (isDecidedByPast || held.some((one) => one.kept && !one.from))
      ? [{ clusterType: clusterType.name, bundle: previous }]
      : []),
    ...held.flatMap(({ assignment, from, declaredIn }) =>
      from
        ? [
            defined({
              clusterType: clusterType.name,
              bundle: from,
              assignment: assignment.target.name,
              declaredIn: declaredIn || undefined,
            }),
          ]
        : [],
    ),
  ]);
  return defined({
    fleet: platform.fleet,
    environment: platform.environment,
    parent,
    sources: uniqueSources(sources),
    images: byName(images),
    charts: chartsOf([
      ...applications.charts,
      ...fetched.flatMap(({ from }) => (from && 'chart' in from ? from.chart : [])),
    ]),
    files: files.size === 0 ? undefined : byName(files),
    tools: [{ name: 'fleet-scheduler', version: VERSION }, ...applications.tools],
    kept: kept.length === 0 ? undefined : kept,
    declared: platform.declarations ? withUnread(platform.declarations.declared, bundles) : undefined,
  });
};

/** Adds what an application that cannot be read declared when it last could. */
const withUnread = (
  declared: readonly Declared[],
  bundles: readonly Pick<BuiltBundle, 'held'>[],
): readonly Declared[] => {
  const unread = bundles.flatMap(({ held }) =>
    held.flatMap(({ registration, assignment }) =>
      registration === undefined ? [] : [{ place: placeOf(registration), name: assignment.target.name }],
    ),
  );
  if (unread.length === 0) return declared;
  const more = [...Map.groupBy(unread, ({ place }) => place)].map(([place, names]) => ({
    in: place,
    targets: [...new Set(names.map(({ name }) => name))].toSorted(compareBytes),
  }));
  const rest = declared.filter((one) => more.every((it) => it.in !== one.in));
  return [...rest, ...more].toSorted((a, b) => compareBytes(a.in, b.in));
};

/** Errors that the last releases decide: whose a name is, and what nobody meant to remove. */
const RELEASE_DEPENDENT: ReadonlySet<string> = new Set([
  'NAME_CLASH',
  'OBJECT_CLASH',
  'OUT_OF_BOUNDS',
  'REMOVALS_HELD',
]);

const byName = (
  found: ReadonlyMap<string, Digest>,
): readonly { readonly name: string; readonly digest: Digest }[] =>
  [...found].map(([name, digest]) => ({ name, digest })).toSorted((a, b) => compareBytes(a.name, b.name));

const chartsOf = (charts: readonly PinnedChart[]): readonly PinnedChart[] =>
  [...new Map(charts.map((chart) => [`${chart.name}:${chart.version}`, chart]))]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([, chart]) => chart);

/** Sorted; each role and path once. */
export const uniqueSources = (sources: readonly CandidateSource[]): readonly CandidateSource[] => [
  ...new Map(
    sources
      .toSorted((a, b) => compareBytes(a.role, b.role) || compareBytes(a.path, b.path))
      .map((source) => [`${source.role}\0${source.path}`, source]),
  ).values(),
];

export const toCandidateSource = ({
  role,
  repo,
  path,
  tree,
  ref,
  commit,
  described,
  directory,
}: SourceSnapshot): CandidateSource =>
  defined({
    role,
    // Paths of directories on the build machine are left out: they are private and differ between machines.
    repo: repo === directory || directory.startsWith(repo) ? `directory:${role}` : repo,
    path,
    tree: parseDigest(tree, 'tree'),
    ref,
    commit,
    described,
  });
