import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { packLayer } from '../../../../bundles/formats/archive/pack-layer.ts';
import { writeTar } from '../../../../bundles/formats/archive/write-tar.ts';
import { collect, streamOf } from './streams.ts';

describe.skipIf(spawnSync('tar', ['--version']).error)('GNU tar', () => {
  test('GNU tar lists and unpacks what writeTar writes', async () => {
    const content = Buffer.from('{"imageLayoutVersion":"1.0.0"}');
    const entries = [
      { path: 'oci-layout', size: content.length, content },
      { path: 'blobs', directory: true } as const,
      { path: 'blobs/tool', size: 1500, mode: 0o100775, content: streamOf(Buffer.alloc(1500, 'x'), [400]) },
      { path: 'blobs/empty', size: 0, mode: 0o600, content: streamOf(Buffer.alloc(0)) },
    ];
    const input = await collect(writeTar(entries));
    const { stdout, stderr, status } = spawnSync('tar', ['tvf', '-', '--numeric-owner', '--utc'], {
      input,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/\s+/u)),
    ).toEqual([
      ['-rw-r--r--', '0/0', '30', '1970-01-01', '00:00', 'oci-layout'],
      ['drwxr-xr-x', '0/0', '0', '1970-01-01', '00:00', 'blobs/'],
      ['-rwxr-xr-x', '0/0', '1500', '1970-01-01', '00:00', 'blobs/tool'],
      ['-rw-r--r--', '0/0', '0', '1970-01-01', '00:00', 'blobs/empty'],
    ]);
  });

  test('GNU tar reads a layer with long paths', () => {
    const long = [
      `${'a'.repeat(90)}/${'b'.repeat(65)}/${'c'.repeat(30)}`,
      `${'d'.repeat(60)}/${'e'.repeat(93)}/${'f'.repeat(100)}`,
      `${'g'.repeat(99)}/h`,
      `${'i/'.repeat(127)}j`,
    ];
    const input = packLayer(long.map((path) => ({ path, bytes: Buffer.from(path) }))).bytes;
    const { stdout, stderr, status } = spawnSync('tar', ['tzf', '-'], { input, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').filter((line) => line !== '' && !line.endsWith('/'))).toEqual(long);
  });
});
