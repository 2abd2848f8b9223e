import { FleetError } from '#bundles/errors';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { differences, formatFields } from '../live/differences.ts';
import { additionsBy } from '../live/extras.ts';
import { deployersIn, toMigrate } from '../live/foreign-managers.ts';
import { withKept } from '../live/kept-fields.ts';
import type { TriedApply } from '../live/try-apply.ts';
import { HOW_TO_TAKE, whyRefused } from './check-claims.ts';
import type { PlanContext, Takeover } from './plan-context.ts';

/** Changes that a takeover of one object would make. Paths of fields, never values. */
export type Comparison = {
  /** Field managers whose fields become ours, so that those which the package does not have are removed. */
  readonly strips: readonly string[];
  /** Fields that the package changes or adds, without our annotations. */
  readonly changes: readonly string[];
  /** Fields of those managers that the package does not have, besides labels and annotations. */
  readonly removes: readonly string[];
  /** True if nothing but labels and annotations of the object would change: no pod is restarted. */
  readonly isEqual: boolean;
};

/** Labels and annotations, ours and those of other tools: they name the owner of an object and do not change what it does. */
const MARKS = /^metadata\.(labels|annotations)(\.|$)/;

/** @param tried a dry run of the package's apply @throws FleetError API_*, ABORTED */
export const compareTakeover = async ({
  context: { api, options, signal },
  wanted: whole,
  takeover: { live },
  tried: { dry, keeps },
}: {
  readonly context: PlanContext;
  readonly wanted: WantedObject;
  readonly takeover: Takeover;
  readonly tried: Pick<TriedApply, 'dry' | 'keeps'>;
}): Promise<Comparison> => {
  const wanted = withKept(whole, live, keeps);
  const strips = [
    ...new Set([...deployersIn(live, options.deployers), ...toMigrate(live, wanted.policy.fields)]),
  ];
  const added = await additionsBy(
    api,
    { wanted, live, isMeant: ({ manager = '', subresource }) => !subresource && strips.includes(manager) },
    signal,
  );
  const removes = [...new Set(added.map(({ path }) => path))];
  // Compared apart, because a list of differences is cut off: many annotations must not hide a change of the spec.
  const unmarked = differences(withoutMarks(live), withoutMarks(dry));
  const all = new Set([...unmarked, ...differences(live, dry)]);
  const changes = [...all].filter((path) => !OURS.test(path));
  return { strips, changes, removes, isEqual: removes.length + unmarked.length === 0 };
};

const withoutMarks = ({
  metadata: { labels: _, annotations: __, ...metadata },
  ...rest
}: LiveObject): LiveObject => ({
  ...rest,
  metadata,
});

const OURS = /^metadata\.annotations(\.fleet-ferry\/|$)/;

export const describeTakeover = (
  { controller, isOwned }: Takeover,
  { strips, removes }: Comparison,
): readonly string[] => [
  'it existed before the package and had no owner of this fleet',
  ...(controller === undefined
    ? []
    : [isOwned ? `${controller} may still consider it its own` : `${controller} no longer manages it`]),
  ...(strips.length > 0 ? [`fields of ${strips.join(', ')} become ours`] : []),
  ...(removes.length > 0 ? [`${formatFields(removes)} is removed: the package does not have it`] : []),
];

/** @param compared absent: the object cannot be compared before it is taken over */
export const refuseTakeover = (
  wanted: WantedObject,
  takeover: Takeover,
  compared?: Pick<Comparison, 'changes' | 'removes'>,
): FleetError => {
  const fields = compared && [...compared.changes.filter((path) => !MARKS.test(path)), ...compared.removes];
  const what = fields ? formatFields(fields) : 'it cannot be compared before';
  return new FleetError('PATH_CLAIMED', `${nameOf(wanted)} ${whyRefused(takeover)}: ${what}`, {
    hint: HOW_TO_TAKE,
  });
};
