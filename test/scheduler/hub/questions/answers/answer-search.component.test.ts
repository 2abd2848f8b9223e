import { describe, expect, it } from 'vitest';
import { answerSearch } from '../../../../../scheduler/hub/questions/answers/answer-search.ts';
import { NOW, type TestHub } from '../../test-hub.ts';
import { shop } from '../history/shop-hub.ts';

const search = async (hub: TestHub, text: string, limit = 100, cursor?: string) =>
  answerSearch(hub, { text, page: { limit, cursor } }, NOW);

const names = async (hub: TestHub, text: string) =>
  (await search(hub, text)).found.map(({ kind, name }) => `${kind} ${name}`);

describe('the search', () => {
  it('finds every kind of object by a part of its name', async () => {
    await using hub = await shop();
    expect(await names(hub, 'LAB')).toEqual(['site lab', 'agent lab/rig-1']);
    expect(await names(hub, 'press')).toEqual(['agent plant-7/press-1']);
    expect(await names(hub, ' prod ')).toEqual([
      'environment prod',
      'release prod/kiosk r1',
      'release prod/kiosk r2',
      'release prod/kiosk r3',
    ]);
    expect(await names(hub, 'web')).toEqual(['assignment web']);
  });

  it('finds only visible objects for a limited reader', async () => {
    await using hub = await shop();
    const limited = async (whole: readonly string[], parts: Readonly<Record<string, readonly string[]>>) => {
      const visible = {
        whole: new Set(whole),
        parts: new Map(Object.entries(parts).map(([name, of]) => [name, new Set(of)])),
      };
      const { found } = await answerSearch(hub, { text: 'r', page: { limit: 100 }, visible }, NOW);
      return found.map(({ kind, name }) => `${kind} ${name}`);
    };
    expect(await limited([], {})).toEqual([]);
    expect(await limited([], { prod: ['other'] })).toEqual(['environment prod']);
    expect(await limited([], { prod: ['web'] })).toEqual(['environment prod', 'agent plant-7/press-1']);
    expect(await limited(['qa'], {})).toEqual([
      'agent lab/rig-1',
      'assignment extra',
      'release qa/kiosk r1',
      'release qa/kiosk r2',
    ]);
  });

  it('finds a package by twelve digits of its digest, not by five', async () => {
    await using hub = await shop();
    expect(await names(hub, hub.first.slice(0, 'sha256:'.length + 12))).toEqual([`package ${hub.first}`]);
    expect(await names(hub, hub.first.slice('sha256:'.length, 'sha256:'.length + 5))).toEqual([]);
  });

  it.each(['%', '_', '\\', "' or 1=1 --", '<b>', '\u001b[2J'])('treats %j as text', async (text) => {
    await using hub = await shop();
    expect(await names(hub, text)).toEqual([]);
  });

  it('comes in pages without gaps', async () => {
    await using hub = await shop();
    const whole = (await search(hub, 'r')).found;
    expect(whole.length).toBeGreaterThan(4);
    const found = [];
    let cursor: string | undefined;
    do {
      const page = await search(hub, 'r', 2, cursor);
      found.push(...page.found);
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(found).toEqual(whole);
  });

  it.each(['', '   ', 'x'.repeat(101)])('refuses %j', async (text) => {
    await using hub = await shop();
    await expect(search(hub, text)).rejects.toMatchObject({ code: 'USAGE' });
    await expect(search(hub, 'web', 2, 'x')).rejects.toMatchObject({ code: 'USAGE' });
  });
});
