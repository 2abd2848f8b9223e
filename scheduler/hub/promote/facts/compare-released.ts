import { compareBytes } from '#bundles/digest';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { canonicalJson, type Json } from '#bundles/json/canonical';

/** A channel of the later environment: what its newest release has, and what a build from the candidate makes. */
export type ComparedChannel = {
  /** 'prod/kiosk', for messages. */
  readonly channel: string;
  /** Of each bundle of the newest release; empty: the channel has no release. */
  readonly before: readonly BundleConfig[];
  readonly after: BundleConfig;
  /** Workspaces of assignments and applications that cannot be built now: a later build may change them. */
  readonly held: readonly (string | undefined)[];
};

export type ComparedReleases = {
  readonly workspaces: readonly string[];
  readonly others: readonly string[];
  /** Names of the assignments that differ, by channel. */
  readonly changed: ReadonlyMap<string, ReadonlySet<string>>;
};

/**
 * The workspaces whose assignments differ: added, removed, with another package, other terms or other site inputs. Settings of a whole
 * bundle, and assignments without a workspace, belong to nobody. What is in doubt counts as changed.
 */
export const compareReleased = (channels: readonly ComparedChannel[]): ComparedReleases => {
  const workspaces = new Set<string>();
  const others = new Set<string>();
  const add = (workspace: string | undefined, what: string): void => {
    if (workspace === undefined || workspace === '') others.add(what);
    else workspaces.add(workspace);
  };
  const changed = new Map<string, ReadonlySet<string>>();
  for (const { channel, before, after, held } of channels) {
    const ids = new Set<string>();
    changed.set(channel, ids);
    const [old, now] = [assignmentsOf(before), assignmentsOf([after])];
    for (const id of new Set([...old.keys(), ...now.keys()])) {
      const [a, b] = [old.get(id), now.get(id)];
      if (a?.terms === b?.terms) continue;
      ids.add(id);
      // An assignment that moves to another workspace changes both.
      for (const side of [a, b]) if (side) add(side.workspace, `${channel}: ${id}`);
    }
    for (const workspace of held) add(workspace, `${channel}: what is held`);
    if (before.length > 0 && before.every((one) => settingsOf(one) !== settingsOf(after)))
      others.add(`${channel}: settings of the bundle`);
  }
  return {
    workspaces: [...workspaces].toSorted(compareBytes),
    others: [...others].toSorted(compareBytes),
    changed,
  };
};

type Side = { readonly workspace: string | undefined; readonly terms: string };

const assignmentsOf = (configs: readonly BundleConfig[]): ReadonlyMap<string, Side> =>
  new Map(
    configs.flatMap(({ assignments, siteInputs }) =>
      assignments.map(({ layer: _, ...assignment }) => {
        const fields = siteInputs.fields.filter((field) => field.assignment === assignment.id);
        const inputs = new Set(fields.map(({ input }) => input));
        const { properties, required } = inputsOf(siteInputs);
        const schema = [...inputs].toSorted(compareBytes).map((input) => properties[input] ?? null);
        const needed = required.filter((name) => inputs.has(name));
        const terms = canonicalJson({ ...assignment, fields, schema, needed }, 'doubles');
        return [assignment.id, { workspace: assignment.workspace, terms }] as const;
      }),
    ),
  );

const inputsOf = ({
  schema,
}: BundleConfig['siteInputs']): {
  readonly properties: Readonly<Record<string, Json>>;
  readonly required: readonly string[];
} => {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  return { properties, required };
};

/** Settings of a bundle beside its assignments. Its closure and the disk space follow from the packages. */
const settingsOf = (config: BundleConfig): string => {
  const { kind, siteInputs, requirements, imagePolicy = [], reboot, critical } = config;
  const { properties: _, required: __, ...schema } = siteInputs.schema;
  const { diskBytes: ___, ...needed } = requirements;
  return canonicalJson(
    {
      kind,
      schema,
      needed,
      imagePolicy,
      reboot: reboot ? { windows: [...reboot.windows] } : undefined,
      critical,
    },
    'doubles',
  );
};
