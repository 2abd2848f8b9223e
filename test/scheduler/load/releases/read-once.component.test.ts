import { describe, expect, test } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseRoot } from '#bundles/trust/root/root';
import { type ReadOnce, readOnce } from '../../../../scheduler/load/releases/read-once.ts';
import {
  newFleet,
  rotate,
  type SignedFleet,
  writeSignedLayout,
} from '../../../harness/fleets/signed-layout.ts';
import { temporaryDirectory } from '../../file-tree.ts';

const QA = { environment: 'qa', clusterType: 'host' };
const PROD = { environment: 'prod', clusterType: 'host' };

const world = async () => {
  const fleet = await newFleet();
  const directory = await temporaryDirectory();
  const writer = writeSignedLayout(fleet, directory);
  const release = (channel: typeof QA, version: number) =>
    writer.release({ channel, version, bundles: [{ kind: 'host', packages: { web: { 'a.json': '{}' } } }] });
  await release(QA, 1);
  await release(PROD, 1);
  let reads = 0;
  const read = async (of: SignedFleet = fleet, work: () => Promise<string> = async () => 'read') => {
    const question: ReadOnce = {
      layout: await openLayout(directory),
      roots: of.roots.map((bytes) => parseRoot(bytes)),
      repository: 'qa/host',
      what: 'test',
    };
    return readOnce(question, () => {
      reads += 1;
      return work();
    });
  };
  return { fleet, release, read, reads: () => reads };
};

describe('the cached release of a channel', () => {
  test('is read once, also after another channel changed', async () => {
    const { release, read, reads } = await world();
    await read();
    await release(PROD, 2);
    expect(await read()).toBe('read');
    expect(reads()).toBe(1);
  });

  test('is read again after its channel changed, and under another root', async () => {
    const { fleet, release, read, reads } = await world();
    await read();
    await release(QA, 2);
    await read();
    expect(reads()).toBe(2);
    await read(await rotate(fleet, 'release'));
    expect(reads()).toBe(3);
  });

  test('is read again after a failure', async () => {
    const { fleet, read } = await world();
    await expect(read(fleet, async () => Promise.reject(new Error('disk')))).rejects.toThrow('disk');
    expect(await read()).toBe('read');
  });
});
