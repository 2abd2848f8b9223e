import { statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import { bytesToWrite } from '../../../exporter/plan/bytes-to-write.ts';
import { planSet } from '../../../exporter/plan/set/plan-set.ts';
import { type ExportRequest, prepare } from '../../../exporter/plan/prepare.ts';
import { exportMedium } from '../../../exporter/write/export-medium.ts';
import type { SetRequest } from '../../../exporter/write/write-set.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { filesOf } from '../files-of.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../world.ts';
import { PART } from '../write/set-world.ts';

/** Later than the medium was planned: what says when it was made is as long. */
const LATER = new Date(NOW.getTime() + 90_000);

const exportRequestOf = (
  world: World,
  to: readonly string[],
  more: Partial<ExportRequest>,
  now: Date,
): ExportRequest => ({
  from: world.path('layout'),
  to: world.path(to[0] ?? ''),
  alsoTo: to.slice(1).map((name) => world.path(name)),
  channels: undefined,
  sites: ['plant-7'],
  bases: [],
  now,
  ...more,
});

const quiet = { onBytes: () => {} };

type Numbers = { readonly planned: number; readonly written: number; readonly all: number };

/** What plan says, and then what create writes. */
const inOnePiece = async (
  world: World,
  to: string,
  more: Partial<ExportRequest> = {},
  maxFileSize?: number,
): Promise<Numbers> => {
  await using before = await prepare(exportRequestOf(world, [to], more, NOW));
  const { toWrite, there } = await bytesToWrite(before, maxFileSize, {});
  await using prepared = await prepare(exportRequestOf(world, [to], more, LATER));
  const { written } = await exportMedium(prepared, {
    readBack: true,
    ...quiet,
    ...(maxFileSize === undefined ? {} : { maxFileSize }),
  });
  return { planned: toWrite, written, all: toWrite + there };
};

const inParts = async (
  world: World,
  to: readonly string[],
  wish: SetRequest,
  more: Partial<ExportRequest> = {},
): Promise<Numbers & { readonly count: number }> => {
  await using before = await prepare(exportRequestOf(world, to, more, NOW));
  const { sticks } = await planSet(before, wish, quiet);
  await using prepared = await prepare(exportRequestOf(world, to, more, LATER));
  const { written, set } = await exportMedium(
    prepared,
    { readBack: true, ...quiet, seal: prepared.seal },
    wish,
  );
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
  const planned = sum(sticks.map(({ toWrite }) => toWrite));
  const all = planned + sum(sticks.map(({ there }) => there));
  expect(sticks.flatMap(({ parts }) => parts.map(({ size }) => size))).toEqual(
    set?.parts.map(({ size }) => size),
  );
  return { planned, written, all, count: set?.count ?? 0 };
};

const bytesAt = (path: string): number =>
  path.endsWith('.tar')
    ? statSync(path).size
    : [...filesOf(path).values()].reduce((total, bytes) => total + bytes.byteLength, 0);

const nextRelease = (world: World): Promise<unknown> =>
  world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });

const withReceipt = async (): Promise<World> => {
  const world = await makeKioskWorld();
  await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
  return world;
};

describe('the number of bytes that plan predicts for create', () => {
  it('is that of the written folder: blobs, table of contents, receipts', async () => {
    await using world = await withReceipt();
    const first = await inOnePiece(world, 'stick');
    expect(first.planned).toBe(first.written);
    expect(first.planned).toBe(bytesAt(world.path('stick')));
    expect(await inOnePiece(world, 'stick')).toEqual({ planned: 0, written: 0, all: first.all });
  });

  it('leaves out the blobs of the former release that are on the medium', async () => {
    await using world = await withReceipt();
    await inOnePiece(world, 'stick');
    await nextRelease(world);
    const next = await inOnePiece(world, 'stick');
    expect(next.planned).toBe(next.written);
    expect(next.planned).toBeLessThan(next.all / 2);
    expect(next.all).toBe(bytesAt(world.path('stick')));
  });

  it('counts blobs in pieces, and none for a medium that is up to date', async () => {
    await using world = await withReceipt();
    const first = await inOnePiece(world, 'stick', {}, 20_000);
    expect([first.planned, first.planned]).toEqual([first.written, bytesAt(world.path('stick'))]);
    expect(await inOnePiece(world, 'stick', {}, 20_000)).toMatchObject({ planned: 0, written: 0 });
  });

  it('counts the headers of a tar, and a patch instead of its blob', async () => {
    await using world = await withReceipt();
    const first = await inOnePiece(world, 'one.tar');
    expect([first.planned, first.planned]).toEqual([first.written, bytesAt(world.path('one.tar'))]);
    await nextRelease(world);
    const next = await inOnePiece(world, 'two.tar', { bases: [world.path('one.tar')], binaryDeltas: true });
    expect(next.planned).toBe(next.written);
  });

  it('leaves out the part of a tar that an interrupted run wrote', async () => {
    await using world = await withReceipt();
    await inOnePiece(world, 'one.tar');
    const whole = await readFile(world.path('one.tar'));
    await writeFile(world.path('two.tar.partial'), whole.subarray(0, 20_000));
    const rest = await inOnePiece(world, 'two.tar');
    expect(rest.planned).toBe(rest.written);
    expect(rest.planned).toBeLessThan(rest.all);
  });

  it('counts the parts and lists of a set, on one medium and on several', async () => {
    await using world = await withReceipt();
    const one = await inParts(world, ['stick'], { partSize: PART, stickSizes: [] });
    expect([one.planned, one.planned]).toEqual([one.written, bytesAt(world.path('stick'))]);
    expect(one.count).toBeGreaterThan(1);
    const wish = { partSize: PART, stickSizes: [PART] };
    const many = await inParts(world, ['a', 'b', 'c', 'd', 'e'], wish);
    expect(many.planned).toBe(many.written);
    expect(await inParts(world, ['a', 'b', 'c', 'd', 'e'], wish)).toMatchObject({
      planned: 0,
      written: 0,
      all: many.all,
    });
  });

  it('is that of a whole set when an older set is replaced, except the receipts beside it', async () => {
    await using world = await withReceipt();
    const wish = { partSize: PART, stickSizes: [] };
    await inParts(world, ['stick'], wish);
    await nextRelease(world);
    const next = await inParts(world, ['stick'], wish);
    expect([next.planned, next.all]).toEqual([next.written, bytesAt(world.path('stick'))]);
  });

  it('is that of sealed parts, before they are sealed', async () => {
    await using world = await withReceipt();
    const { recipient } = await generateAgeIdentity();
    const agents = [{ name: 'line-1', channel: KIOSK, key: world.agent, recipient }];
    await world.layout.site({ site: 'plant-7', version: 2, agents });
    const wish = { partSize: PART, stickSizes: [] };
    const sealed = await inParts(world, ['stick'], wish, { sealTo: [] });
    expect([sealed.planned, sealed.planned]).toEqual([sealed.written, bytesAt(world.path('stick'))]);
    expect(await inParts(world, ['stick'], wish, { sealTo: [] })).toMatchObject({ planned: 0, written: 0 });
  });
});
