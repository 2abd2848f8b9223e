import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { type BundleConfig, MAX_CONFIG_BYTES } from '#bundles/formats/bundle/config';
import type { Json } from '#bundles/json/canonical';
import { LAYER_LIMITS } from '#bundles/formats/bundle/layer-limits';
import type { AssembledPackage } from './assembled-package.ts';
import { sizeInLayer } from './read-back.ts';

/** Shares of what the readers of one bundle take at most (docs/bundle-format.md section 15), one for each limit. */
type Room = readonly number[];

const MAX_ITEMS = { assignments: 10_000, fields: 10_000, blobs: 100_000 };

/**
 * Sorts packages so that those come last that take most of the room that all share: packages of the platform and those that sites
 * run already come first, then the packages of the workspace that grew least since the release before.
 * @param before config of the release before
 */
export const rankPackages = (
  packages: readonly AssembledPackage[],
  before: BundleConfig | undefined,
): readonly AssembledPackage[] => {
  const earlier = before ? roomsIn(before) : new Map<string, Room>();
  const released = new Map((before?.assignments ?? []).map((one) => [one.id, one.package]));
  const isFirst = ({ id, digest, assignment }: AssembledPackage): boolean =>
    assignment.target.registration === undefined || released.get(id) === digest;
  const growthOf = (made: AssembledPackage): Room => {
    if (isFirst(made)) return [];
    const was = earlier.get(made.id) ?? [];
    return [...roomOf(made), ...filesRoom(made)].map((room, at) => room - (was[at] ?? 0));
  };
  const grown = packages.map((made) => ({ made, growth: growthOf(made), isFirst: isFirst(made) }));
  const workspaces = new Map(
    [...Map.groupBy(grown, ({ made }) => made.assignment.target.workspace)].map(([name, own]) => [
      name,
      most(own.map(({ growth }) => growth).reduce(sum, [])),
    ]),
  );
  const ofWorkspace = ({ assignment }: AssembledPackage): number =>
    workspaces.get(assignment.target.workspace) ?? 0;
  return grown
    .toSorted(
      (a, b) =>
        Number(b.isFirst) - Number(a.isFirst) ||
        ofWorkspace(a.made) - ofWorkspace(b.made) ||
        compareBytes(a.made.assignment.target.workspace, b.made.assignment.target.workspace) ||
        most(a.growth) - most(b.growth) ||
        compareBytes(a.made.id, b.made.id),
    )
    .map(({ made }) => made);
};

const most = (room: Room): number => Math.max(0, ...room);

const sum = (a: Room, b: Room): Room =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, at) => (a[at] ?? 0) + (b[at] ?? 0));

const roomFor = (described: Json, fields: number, blobs: number): Room => [
  JSON.stringify(described).length / MAX_CONFIG_BYTES,
  1 / MAX_ITEMS.assignments,
  fields / MAX_ITEMS.fields,
  blobs / MAX_ITEMS.blobs,
];

const roomOf = ({ bounds, siteInputs, contents = [], imageBlobs = [] }: AssembledPackage): Room =>
  roomFor(defined({ bounds, siteInputs }), siteInputs.length, contents.length + imageBlobs.length);

const roomsIn = ({ assignments, siteInputs }: BundleConfig): ReadonlyMap<string, Room> => {
  const properties = (siteInputs.schema['properties'] ?? {}) as Readonly<Record<string, Json>>;
  const fields = Map.groupBy(siteInputs.fields, ({ assignment }) => assignment);
  return new Map(
    assignments.map(({ id, bounds, blobs = [] }) => {
      const own = (fields.get(id) ?? []).map((field) => ({ ...field, schema: properties[field.input] }));
      return [id, roomFor(defined({ bounds, siteInputs: own }), own.length, blobs.length)];
    }),
  );
};

/** The packages of a cluster share one layer. */
const filesRoom = (made: AssembledPackage): Room => {
  const { bytes, entries } = sizeInLayer(made);
  return [bytes / LAYER_LIMITS.maxBytes, entries / LAYER_LIMITS.maxEntries];
};
