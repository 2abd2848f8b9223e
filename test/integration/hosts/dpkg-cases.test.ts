import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { isTried } from '../../harness/run/long.ts';
import { packageFiles, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { askLines } from '../../harness/run/answered-lines.ts';
import { testProgramOnHost } from '../../harness/run/program-file.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import type { BuiltPackage } from '../../agent/apply/host/built-package.ts';
import { DPKG_CASES, type DebRelease } from './debs-host/dpkg-cases.ts';
import type { CaseRequest, CaseResult } from './debs-host/run-case.ts';
import { buildDeb, debsPackage } from './debs-host/test-deb.ts';

const runCase = testProgramOnHost('test/integration/hosts/debs-host/run-case.ts');

/** Cases of dpkg's own functional tests (tests/t-* of its source), rebuilt with packages of ours. */
describeWith(['factoryBase'], 'the plan says what dpkg then does', ({ factoryBase }) => {
  let host: FactoryHost;
  let media: TemporaryDirectory;
  let folders = 0;
  const ask = askLines<CaseRequest, CaseResult>(() => host.open(['/usr/local/bin/node', runCase.file]));

  const built = async ({ debs, ...policies }: DebRelease): Promise<BuiltPackage> => {
    folders += 1;
    const made: TestPackage = await debsPackage(join(media.path, String(folders)), 'press', debs, policies);
    const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64');
    return {
      files: Object.fromEntries(packageFiles(made).map(({ path, bytes }) => [path, base64(bytes)])),
      blobs: Object.values(made.blobs ?? {}).map(base64),
      siteInputs: [],
    };
  };

  beforeAll(async () => {
    media = await temporaryDirectory('dpkg-cases');
    host = await startFactoryHost('dpkg-cases', {
      base: factoryBase,
      binds: [runCase.bind, { from: media.path, to: '/media' }],
    });
    // The cases are about dpkg's decisions, not about what survives a power cut.
    const { code } = await host.exec([
      '/bin/sh',
      '-c',
      'echo force-unsafe-io > /etc/dpkg/dpkg.cfg.d/unsafe-io',
    ]);
    expect(code).toBe(0);
  });
  afterAll(async () => {
    await host?.remove();
    await media?.[Symbol.asyncDispose]();
  });

  it.each(DPKG_CASES.filter((_, index) => isTried(index, 5)))('$title', async (one) => {
    const { admin = [], first, here = '', next, plan, holds = '', lost = [] } = one;
    const adminFolder = join(media.path, `admin-${(folders += 1)}`);
    await mkdir(adminFolder);
    for (const deb of admin) await buildDeb(adminFolder, deb);
    const request: CaseRequest = {
      admin: admin.length > 0 ? [`/media/admin-${folders}/*.deb`] : [],
      first: first ? await built(first) : null,
      here,
      next: await built(next),
      holds,
      names: [...new Set([...admin, ...(first?.debs ?? []), ...next.debs].map(({ name }) => name))],
    };
    const asked = await ask(request);
    if ('noAnswer' in asked) throw new Error(asked.noAnswer.stderr);
    const result = asked.answer;
    expect(result.wrong).toBe('');
    if (plan instanceof RegExp) {
      expect(result.error).toMatch(plan);
      expect(result.left).toEqual(lost);
    } else {
      expect(result).toMatchObject({ error: '', announced: plan, did: plan });
    }
  });
});
