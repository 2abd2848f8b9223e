import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeTar } from '#bundles/formats/archive/write-tar';
import { digestOf } from '#bundles/digest';
import { readBlob } from '#bundles/formats/layout/verified';
import { agentFolder, MAX_MEDIUM_BYTES, type OpenMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { digestOfPath } from '#bundles/formats/medium/blob-path';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { rawTar } from '../archive/raw-tar.ts';
import { collect } from '../archive/streams.ts';
import { verdict } from '../../verdict.ts';
import { blobPath, CHUNKED, type MediumFile, mediumFiles, sampleMedium, WHOLE } from './sample-medium.ts';

const writeDirectory = async (path: string, files: readonly MediumFile[]): Promise<string> => {
  await mkdir(path, { recursive: true });
  for (const { path: name, content } of files) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
  }
  return path;
};

const writeTarFile = async (path: string, files: readonly MediumFile[]): Promise<string> => {
  await writeFile(path, writeTar(files.map((file) => ({ ...file, size: file.content.length }))));
  return path;
};

/** Whether this process has the file open. */
const isOpen = (path: string): boolean =>
  readdirSync('/proc/self/fd').some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      // The descriptor of the listing itself.
      return false;
    }
  });

const FORMS = [
  ['directory', writeDirectory],
  ['tar', writeTarFile],
] as const;

describe.each(FORMS)('a medium as a %s', (form, write) => {
  const opened = async (use: (medium: OpenMedium, path: string) => Promise<void>, files = mediumFiles()) => {
    await using folder = await temporaryDirectory('medium');
    await using medium = await openMedium(await write(join(folder.path, 'medium'), files));
    await use(medium, join(folder.path, 'medium'));
  };

  it('returns its form, path and table of contents', () =>
    opened(async (medium, path) => {
      expect(medium).toMatchObject({ form, path, medium: sampleMedium() });
    }));

  it('returns every blob, whole or in pieces, at random access, any number of times', () =>
    opened(async (medium) => {
      for (const content of [CHUNKED, ...WHOLE, CHUNKED, WHOLE[0]]) {
        expect(await medium.blobs.size(digestOf(content))).toBe(content.length);
        expect((await readBlob(medium.blobs, digestOf(content), 4 << 20)).equals(content)).toBe(true);
      }
      const all = await Promise.all(
        WHOLE.map(async (content) => collect(await medium.blobs.open(digestOf(content)))),
      );
      expect(all.map(digestOf)).toEqual(WHOLE.map(digestOf));
    }));

  it('reports an absent blob as MISSING_BLOB, without a size', () =>
    opened(async (medium) => {
      const digest = digestOf('not here');
      expect(await medium.blobs.size(digest)).toBeUndefined();
      expect(await verdict(() => medium.blobs.open(digest))).toBe('MISSING_BLOB');
    }));

  it('reports MISSING_BLOB when a piece of a split blob is missing', () =>
    opened(
      async (medium) => {
        const read = async () => collect(await medium.blobs.open(digestOf(CHUNKED)));
        expect(await verdict(read)).toBe('MISSING_BLOB');
      },
      mediumFiles().filter(({ path }) => !path.endsWith('.002')),
    ));

  it('lists the files below a folder, sorted', () =>
    opened(async (medium) => {
      expect(await medium.files('fleet/reports')).toEqual([
        'fleet/reports/a/1.ndjson',
        'fleet/reports/b/1.ndjson',
      ]);
      expect(await medium.files('fleet/receipts')).toEqual([]);
      expect(await medium.files('fleet/rep')).toEqual([]);
    }));

  it('returns a small file, and undefined for a larger or missing one', () =>
    opened(async (medium) => {
      expect((await medium.readFile('fleet/reports/a/1.ndjson', 5)).toString()).toBe('first');
      expect(await verdict(() => medium.readFile('fleet/reports/a/1.ndjson', 4))).toBe('TOO_LARGE');
      expect(await verdict(() => medium.readFile('fleet/reports/c', 4))).toBe('MISSING_BLOB');
      // Below a file there is nothing in a tar; in a folder a file is in a folder's place.
      const below = form === 'tar' ? 'MISSING_BLOB' : 'MEDIUM_INVALID';
      expect(await verdict(() => medium.readFile('oci-layout/x', 4))).toBe(below);
    }));

  it('may hold reports alone, without a table of contents', () =>
    opened(
      async (medium) => {
        expect(medium.medium).toBeUndefined();
        expect(await medium.files('fleet/reports')).toHaveLength(2);
      },
      mediumFiles().filter(({ path }) => path.startsWith('fleet/reports')),
    ));

  it('stops reading when the signal aborts', () =>
    opened(async (medium) => {
      const controller = new AbortController();
      const read = async () => {
        const stream = await medium.blobs.open(digestOf(WHOLE[0]), controller.signal);
        for await (const _chunk of stream) controller.abort();
      };
      await expect(read()).rejects.toThrow(/abort/);
    }));

  const judged = async (change: Parameters<typeof mediumFiles>[0]) => {
    await using folder = await temporaryDirectory('medium');
    const path = await write(join(folder.path, 'medium'), mediumFiles(change));
    return await verdict(async () => {
      await using _medium = await openMedium(path);
    });
  };

  it.each([
    ['up and away', 'fleet/chunks/../../../etc/passwd'],
    ['absolute', '/etc/passwd'],
    ['of another folder', 'fleet/reports/a/1.ndjson'],
    ['the folder itself', 'fleet/chunks'],
    ['of other letters', 'fleet/chunks/Ä'],
  ])('is refused with a piece that is %s', async (_what, path) => {
    const [chunk] = sampleMedium().chunks;
    if (!chunk) throw new Error('the fixture has no chunks');
    const files = [{ path, size: 1, digest: digestOf('a') }];
    expect(await judged({ chunks: [{ ...chunk, files }] })).toBe('BAD_NAME');
  });

  it('is refused when its table of contents is not valid', async () => {
    expect(await judged({ fleet: 'Acme Inc.' })).toBe('SCHEMA');
    expect(await judged({ critical: ['encrypted'] })).toBe('UNSUPPORTED');
  });
});

describe('a path that is not a medium', () => {
  it('is refused without waiting when it is a device', async () => {
    expect(await verdict(() => openMedium('/dev/null'))).toBe('MEDIUM_INVALID');
  });

  it('is refused with its path and a hint', async () => {
    await using folder = await temporaryDirectory('medium');
    const path = join(folder.path, 'cut.tar');
    await writeFile(path, 'oci-lay');
    await expect(openMedium(path)).rejects.toMatchObject({ code: 'TRUNCATED', at: { file: path } });
    const stick = join(folder.path, 'stick');
    await mkdir(join(stick, 'fleet'), { recursive: true });
    await writeFile(join(stick, 'fleet/medium.json'), '{"format"');
    await expect(openMedium(stick)).rejects.toMatchObject({
      code: 'BAD_JSON',
      at: { file: stick },
      hint: expect.stringContaining('make it again'),
    });
  });
});

describe('a medium as a directory', () => {
  it('reads no device that replaces a file: MEDIUM_INVALID', async () => {
    await using folder = await temporaryDirectory('medium');
    const path = await writeDirectory(folder.path, mediumFiles());
    const piece = join(path, sampleMedium().chunks[0]?.files[1]?.path ?? '');
    await rm(piece);
    await symlink('/dev/zero', piece);
    await using medium = await openMedium(path);
    expect(await verdict(async () => collect(await medium.blobs.open(digestOf(CHUNKED))))).toBe(
      'MEDIUM_INVALID',
    );
    await rm(join(path, 'fleet/medium.json'));
    await symlink('/dev/zero', join(path, 'fleet/medium.json'));
    expect(await verdict(() => openMedium(path))).toBe('MEDIUM_INVALID');
  });

  it('is refused unread when its table of contents exceeds the size limit: TOO_LARGE', async () => {
    await using folder = await temporaryDirectory('medium');
    await mkdir(join(folder.path, 'fleet'));
    await writeFile(join(folder.path, 'fleet/medium.json'), '');
    await truncate(join(folder.path, 'fleet/medium.json'), MAX_MEDIUM_BYTES + 1);
    expect(await verdict(() => openMedium(folder.path))).toBe('TOO_LARGE');
  });

  it('does not list dot files that an operating system left', async () => {
    await using folder = await temporaryDirectory('medium');
    const files = [...mediumFiles(), { path: 'fleet/reports/a/._1.ndjson', content: Buffer.from('mac') }];
    await using medium = await openMedium(await writeDirectory(folder.path, files));
    expect(await medium.files('fleet/reports')).toHaveLength(2);
  });

  it('is MEDIUM_MISSING when the path does not exist', async () => {
    await using folder = await temporaryDirectory('medium');
    expect(await verdict(() => openMedium(join(folder.path, 'nothing')))).toBe('MEDIUM_MISSING');
    await writeFile(join(folder.path, 'file'), 'x');
    expect(await verdict(() => openMedium(join(folder.path, 'file/nothing')))).toBe('MEDIUM_MISSING');
  });
});

describe('a medium as a tar', () => {
  const judged = async (bytes: Uint8Array) => {
    await using folder = await temporaryDirectory('medium');
    const path = join(folder.path, 'medium.tar');
    await writeFile(path, bytes);
    return await verdict(async () => {
      await using _medium = await openMedium(path);
    });
  };
  const rawFiles = mediumFiles().map(({ path: name, content }) => ({
    name,
    content: content.toString('latin1'),
  }));

  it('made by another tar has the same content', async () => {
    expect(await judged(rawTar(rawFiles))).toBe('ACCEPT');
    expect(await judged(rawTar(rawFiles.map((file) => ({ ...file, name: `./${file.name}` }))))).toBe(
      'ACCEPT',
    );
  });

  it('ORDER: is refused when blobs come before the table of contents', async () => {
    expect(await judged(rawTar(rawFiles.toReversed()))).toBe('ORDER');
    const blob = { name: blobPath(digestOf(WHOLE[1])), content: 'small' };
    expect(await judged(rawTar([blob]))).toBe('ORDER');
  });

  it('MEDIUM_INVALID: is refused when it was packed with its parent folder', async () => {
    expect(await judged(rawTar(rawFiles.map((file) => ({ ...file, name: `stick/${file.name}` }))))).toBe(
      'MEDIUM_INVALID',
    );
  });

  it('META_TOO_LARGE: is refused unread when its table of contents exceeds the size limit', async () => {
    const size = `${(MAX_MEDIUM_BYTES + 1).toString(8).padStart(11, '0')}\0`;
    const file = { name: 'fleet/medium.json', size };
    expect(await judged(rawTar([file]))).toBe('META_TOO_LARGE');
  });

  it('is refused when it is truncated, has trailing data, duplicates, bad names, links or a wrong checksum', async () => {
    const good = rawTar(rawFiles);
    expect(await judged(good.subarray(0, -1024))).toBe('TRUNCATED');
    expect(await judged(good.subarray(0, 5000))).toBe('TRUNCATED');
    expect(await judged(Buffer.alloc(0))).toBe('TRUNCATED');
    expect(await judged(Buffer.concat([good, Buffer.from('more')]))).toBe('TRAILING');
    expect(await judged(rawTar([...rawFiles, ...rawFiles.slice(0, 1)]))).toBe('DUPLICATE');
    expect(await judged(rawTar([{ name: '../x' }]))).toBe('BAD_NAME');
    expect(await judged(rawTar([{ name: 'x', type: '2', linkName: '/etc/passwd' }]))).toBe('ENTRY_TYPE');
    expect(await judged(rawTar([{ name: 'x', checksum: '000000\0 ' }]))).toBe('TAR_CHECKSUM');
  });

  it('reports TRUNCATED when the file is truncated after it was opened', async () => {
    await using folder = await temporaryDirectory('medium');
    const path = await writeTarFile(join(folder.path, 'medium.tar'), mediumFiles());
    await using medium = await openMedium(path);
    await truncate(path, 1_000_000);
    expect(await verdict(async () => collect(await medium.blobs.open(digestOf(WHOLE[0]))))).toBe('TRUNCATED');
  });

  it('is closed when it is disposed of, and when it is refused', async () => {
    await using folder = await temporaryDirectory('medium');
    const path = await writeTarFile(join(folder.path, 'medium.tar'), mediumFiles());
    const medium = await openMedium(path);
    expect(isOpen(path)).toBe(true);
    await medium[Symbol.asyncDispose]();
    expect(isOpen(path)).toBe(false);
    const stream = await medium.blobs.open(digestOf(WHOLE[1]));
    await expect(collect(stream)).rejects.toThrow(/closed|EBADF/);
    await truncate(path, 5000);
    expect(await verdict(() => openMedium(path))).toBe('TRUNCATED');
    expect(isOpen(path)).toBe(false);
  });

  it('recognises blob paths only in their exact form', () => {
    const digest = digestOf('a');
    expect(digestOfPath(blobPath(digest))).toBe(digest);
    for (const path of [
      `x/${blobPath(digest)}`,
      `${blobPath(digest)}/x`,
      blobPath(digest).toUpperCase(),
      'index.json',
    ]) {
      expect(digestOfPath(path)).toBeUndefined();
    }
  });
});

describe("an agent's folder", () => {
  it('is the first 32 hex digits of a hash, so that the name is hidden and valid on FAT', () => {
    expect(agentFolder('plant-7/line-1')).toBe('7013d18d087c61d089ae3934bf520f9d');
    expect(agentFolder('plant-7/line-2')).not.toBe(agentFolder('plant-7/line-1'));
  });
});
