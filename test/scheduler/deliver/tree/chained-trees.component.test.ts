import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deliverTrees } from '../../../../scheduler/deliver/tree/deliver-trees.ts';
import { parseTreeTarget } from '../../../../scheduler/deliver/tree/tree-target.ts';
import { readTree, temporaryDirectory } from '../../file-tree.ts';
import { type ChainOffice, NOW, openBuiltOffice } from '../../release/chain/chain-office.ts';

const deliver = async ({ platform, layout }: ChainOffice, given: { layout?: string } = { layout }) => {
  const folder = await temporaryDirectory();
  const delivered = await deliverTrees({
    ...platform,
    ...given,
    to: parseTreeTarget(join(folder, 'trees')),
    pullRequest: false,
    forge: undefined,
    connection: { plainHttp: [], env: {} },
    env: {},
    now: NOW,
    signal: new AbortController().signal,
  });
  const files = await readTree(join(folder, 'trees'));
  const level = Object.entries(files).flatMap(([path, text]) => {
    const [, found] = /"LEVEL": "([\w-]+)/.exec(text) ?? [];
    return found === undefined || path.startsWith('.') ? [] : [`${path.split('/')[0]} ${found}`];
  });
  return { outcomes: delivered.map(({ environment, outcome }) => `${environment} ${outcome}`), level };
};

test('the tree of a chained environment is rendered from the promoted candidate', async () => {
  const office = await openBuiltOffice();
  expect(await deliver(office)).toEqual({
    outcomes: ['dev written', 'qa waiting', 'prod waiting'],
    level: ['dev base-0'],
  });
  await office.promote('dev', 'qa');
  office.config('base/level.yaml', 'base-1');
  expect(await deliver(office)).toEqual({
    outcomes: ['dev written', 'qa written', 'prod waiting'],
    level: ['dev base-1', 'qa base-0'],
  });
});

test('without the layout nothing of a chained environment is delivered', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  expect((await deliver(office, {})).outcomes).toEqual(['dev written', 'qa waiting', 'prod waiting']);
});
