import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { type Teams, makeTeams, plainTeam } from '../../harness/fleets/two-teams.ts';
import { isTried, LONG } from '../../harness/run/long.ts';
import { verdict } from '../../bundles/verdict.ts';
import { readAllSigned } from './read-all-signed.ts';
import { REACHED_BELOW, UNREACHED_BELOW } from './signed-limits/lower-limits.ts';
import { REACHED, UNREACHED } from './signed-limits/reached-limits.ts';

/**
 * Every limit of the documents that are signed with what authors wrote: at the limit, one beyond it and far over it. Nothing that readers
 * refuse is signed, the package that exceeds the limit is held by name, and another team's next version is released.
 */
const DOCUMENTS = ['bundle-config', 'bundle-predicate', 'candidate', 'host-package'];
const UPPER = ['maxLength', 'maxItems', 'maxProperties', 'maximum', 'uniqueItems'];
const LOWER = ['minLength', 'minItems', 'minProperties', 'minimum'];

type Node = { readonly [keyword: string]: unknown };

/** 'bundle-config /siteInputs/fields[]/input maxLength' to its value. */
const limitsIn = (
  keywords: readonly string[],
  node: unknown,
  path: string,
  found = new Map<string, number>(),
): Map<string, number> => {
  if (Array.isArray(node)) for (const one of node) limitsIn(keywords, one, path, found);
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return found;
  for (const [keyword, value] of Object.entries(node as Node)) {
    if (keywords.includes(keyword) && value !== Number.MAX_SAFE_INTEGER)
      found.set(`${path} ${keyword}`, Number(value));
    else if (keyword === 'properties' || keyword === '$defs')
      for (const [name, one] of Object.entries(value as Node))
        limitsIn(keywords, one, `${path}/${name}`, found);
    else if (keyword === 'items' || keyword === 'additionalProperties')
      limitsIn(keywords, value, `${path}[]`, found);
    else if (['allOf', 'anyOf', 'oneOf'].includes(keyword)) limitsIn(keywords, value, path, found);
  }
  return found;
};

const limitsOf = (keywords: readonly string[]): ReadonlyMap<string, number> =>
  new Map(
    DOCUMENTS.flatMap((name) => {
      const file = new URL(`../../../bundles/schemas/${name}.schema.json`, import.meta.url);
      return [...limitsIn(keywords, JSON.parse(readFileSync(file, 'utf8')), `${name} `)];
    }),
  );

const LIMITS = limitsOf(UPPER);
const LEAST = limitsOf(LOWER);

test.each([
  ['upper', LIMITS, REACHED, UNREACHED],
  ['lower', LEAST, REACHED_BELOW, UNREACHED_BELOW],
])(
  'each %s limit is covered by a test, or listed with the reason why no team reaches it',
  (_, limits, reached, unreached) => {
    const known = [...Object.keys(reached), ...Object.keys(unreached)];
    expect(known.toSorted()).toEqual([...limits.keys()].toSorted());
    for (const why of Object.values(unreached)) expect(why.length).toBeGreaterThan(10);
  },
);

describe('a value that readers would refuse is not signed, and only its own team is held', () => {
  let folder: string;
  let teams: Teams;
  let image = '';
  let version = 1;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fleet-ferry-limits-'));
    teams = await makeTeams(folder);
    const { manifests } = await openLayout(join(folder, 'images'));
    image = manifests[0]?.digest ?? '';
    await teams.team('payments', plainTeam('payments', version));
    await teams.team('hostile', plainTeam('hostile', 1));
    await teams.build();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const tried = Object.entries(REACHED).flatMap(([limit, reach], index) => {
    if (reach.slow === true && !LONG) return [];
    const most = LIMITS.get(limit) ?? 0;
    const over = reach.anyway !== true;
    return [
      ...(reach.costly === true && !LONG ? [] : [{ limit, reach, value: most, held: reach.held ?? false }]),
      { limit, reach, value: most + 1, held: over },
      ...(reach.far === undefined || !isTried(index) ? [] : [{ limit, reach, value: reach.far, held: over }]),
    ];
  });

  const triedBelow = Object.entries(REACHED_BELOW).flatMap(([limit, reach]) => {
    const least = LEAST.get(limit) ?? 0;
    return [
      { limit, reach, value: least, held: false },
      { limit, reach, value: least - 1, held: true },
    ];
  });

  test.each([...tried, ...triedBelow])('N60: $limit: $value', async ({ reach, value, held }) => {
    version += 1;
    await teams.team('payments', plainTeam('payments', version));
    await teams.team('hostile', reach.files(value, image), { host: { users: ['root'] }, siteValues: ['*'] });
    // A package that loses objects is not what is tried here.
    const { channels } = await teams.build({ allowRemovals: { count: 100_000, names: new Set() } });
    const named = channels.flatMap((channel) => channel.held.map(({ assignment }) => assignment));
    expect(named.filter((name) => !name.startsWith('hostile-'))).toEqual([]);
    expect(named.length > 0, JSON.stringify(channels.map((it) => it.held)).slice(0, 2000)).toBe(held);
    for (const { clusterType, outcome } of channels)
      expect([clusterType, outcome]).toEqual([clusterType, 'released']);
    let versions: Awaited<ReturnType<typeof readAllSigned>> = {};
    const judged = verdict(async () => {
      versions = await readAllSigned(teams.layout);
    });
    expect(await judged).toBe('ACCEPT');
    expect(versions).toMatchObject({ 'payments-host': `${version}` });
  });
});
