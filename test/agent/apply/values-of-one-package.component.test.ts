import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json } from '#bundles/json/canonical';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { findPackage, savePackage } from '../../../agent/store/applied/packages.ts';
import { packTestBundle, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { stepsDone } from '../folder-target.ts';
import { createWorld, SITE, type World } from '../world.ts';

const taking = (
  id: string,
  input: string,
  schema: { readonly [keyword: string]: Json } = {},
): TestPackage => ({
  id,
  files: { [`/etc/${id}.env`]: 'A=1\n' },
  inputs: [{ input, file: `/etc/${id}.env`, pointer: `/${input}`, schema: { type: 'string', ...schema } }],
});

type Values = Readonly<Record<string, Json>>;

/** Imports a medium with one release and these values of the site. */
const importWith = async (
  world: World,
  packages: readonly TestPackage[],
  {
    version,
    values,
    own = {},
  }: { readonly version: number; readonly values: Values; readonly own?: Readonly<Record<string, string>> },
) =>
  importMedium(
    world.agent,
    await world.medium({
      site: {
        site: SITE,
        version,
        agents: [{ name: 'kiosk-1', key: world.agent.identity.key }],
        values,
        agentValues: { 'kiosk-1': own },
      },
      release: { version: 1, bundle: packTestBundle(world.fleet, packages) },
    }),
  );

const PACKAGES = [
  taking('line', 'line'),
  taking('gate', 'gate'),
  { id: 'other', files: { '/opt/other': 'x' } },
];
const steps = (world: World) => stepsDone(join(world.folder, 'machine'));

describe('a changed site value that one package uses', () => {
  it('changes that package only, and its event has the old and new value', async () => {
    await using world = await createWorld();
    await importWith(world, PACKAGES, { version: 1, values: { line: 'a', gate: 'g' } });
    const [before, events] = [steps(world).length, world.events().length];
    const { packages } = await importWith(world, PACKAGES, { version: 2, values: { line: 'b', gate: 'g' } });
    expect(packages.map(({ assignment, outcome }) => [assignment, outcome])).toEqual([
      ['line', 'configured'],
    ]);
    expect(steps(world).slice(before)).toEqual(['file:/etc/line.env configured']);
    const told = world
      .events()
      .slice(events)
      .flatMap(({ type, assignment, detail }) =>
        type === 'package' ? [[assignment, detail?.['values']]] : [],
      );
    expect(told).toEqual([['line', [{ name: 'line', old: '"a"', new: '"b"' }]]]);
  });

  it("is compared after overriding: the agent's own value, or an overridden site value", async () => {
    await using world = await createWorld();
    const own = { line: 'mine' };
    await importWith(world, PACKAGES, { version: 1, values: { line: 'a', gate: 'g' }, own });
    const hidden = await importWith(world, PACKAGES, { version: 2, values: { line: 'b', gate: 'g' }, own });
    expect(hidden.packages).toEqual([]);
    const shown = await importWith(world, PACKAGES, { version: 3, values: { line: 'b', gate: 'g' } });
    expect(shown.packages).toMatchObject([{ assignment: 'line', outcome: 'configured' }]);
    expect(world.events().at(-1)?.type).not.toBe('refused');
  });

  it('is never shown when it is a secret, by its name or by writeOnly in the schema', async () => {
    await using world = await createWorld();
    const packages = [taking('a', 'adminPassword'), taking('b', 'plain', { writeOnly: true })];
    await importWith(world, packages, {
      version: 1,
      values: { adminPassword: 'hunter-1', plain: 'sesame-1' },
    });
    await importWith(world, packages, {
      version: 2,
      values: { adminPassword: 'hunter-2', plain: 'sesame-2' },
    });
    const text = JSON.stringify(world.events());
    expect(text).toContain('{"name":"adminPassword","new":"withheld","old":"withheld"}');
    expect(text).toContain('{"name":"plain","new":"withheld","old":"withheld"}');
    expect(text).not.toMatch(/hunter|sesame/);
  });

  it('retries a failed package that uses it, and no other', async () => {
    await using world = await createWorld();
    const packages = [
      { ...taking('line', 'line', { pattern: '^[a-z]+$' }), workspace: 'team' },
      taking('gate', 'gate'),
    ];
    await importWith(world, packages, { version: 1, values: { line: '1', gate: 'g' } });
    const count = world.events().length;
    await importWith(world, packages, { version: 2, values: { line: '1', gate: 'h' } });
    const failed = () =>
      world
        .events()
        .slice(count)
        .filter(({ assignment, outcome }) => assignment === 'line' && outcome === 'failed');
    expect(failed()).toEqual([]);
    const { packages: mended } = await importWith(world, packages, {
      version: 3,
      values: { line: 'a', gate: 'h' },
    });
    expect(mended).toMatchObject([{ assignment: 'line', outcome: 'created' }]);
  });
});

it('an updated agent applies nothing again while the site values document is unchanged', async () => {
  await using world = await createWorld();
  const values = { line: 'a', gate: 'g' };
  await importWith(world, PACKAGES, { version: 1, values });
  for (const { id } of PACKAGES) {
    const row = findPackage(world.agent.state, id);
    if (!row?.current || !row.desired) throw new Error(`${id} does not run`);
    const { taken: _, ...current } = row.current;
    savePackage(world.agent.state, { ...row, current, desired: current });
  }
  expect((await importWith(world, PACKAGES, { version: 2, values })).packages).toEqual([]);
  const { packages } = await importWith(world, PACKAGES, { version: 3, values: { ...values, line: 'b' } });
  expect(packages).toMatchObject([{ assignment: 'line', outcome: 'configured' }]);
});
