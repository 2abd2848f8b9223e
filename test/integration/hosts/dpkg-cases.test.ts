import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Debian, describeOnDebian } from '../../harness/hosts/describe-on-debians.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { LONG } from '../../harness/run/long.ts';
import { packageFiles, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { askLines } from '../../harness/run/answered-lines.ts';
import { testProgramOnHost } from '../../harness/run/program-file.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import type { BuiltPackage } from '../../agent/apply/host/built-package.ts';
import { DPKG_CASES, type DebRelease, type DpkgCase } from './debs-host/dpkg-cases.ts';
import { HOST_CASES } from './debs-host/host-cases.ts';
import type { CaseRequest, CaseResult } from './debs-host/run-case.ts';
import { buildDeb, debsPackage } from './debs-host/test-deb.ts';

const runCase = testProgramOnHost('test/integration/hosts/debs-host/run-case.ts');

/** A usual run tries each of `cases` on at most one Debian: one of `share`, and the next one on the newer Debian. */
const triedOn = (debian: Debian, cases: readonly DpkgCase[], share: number): readonly DpkgCase[] =>
  cases.filter((_, index) => LONG || index % share === (debian === 12 ? 0 : share / 2));

/** Cases of dpkg's own functional tests (tests/t-* of its source), rebuilt with packages of ours, and what administrators do to a host. */
describeOnDebian(12, 13, 'sid')([], 'the plan predicts what dpkg does', ({ base, debian }) => {
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
    media = await temporaryDirectory(`dpkg-cases-${debian}`);
    host = await startFactoryHost(`dpkg-cases-${debian}`, {
      base,
      binds: [runCase.bind, { from: media.path, to: '/media' }],
    });
  });
  afterAll(async () => {
    await host?.remove();
    await media?.[Symbol.asyncDispose]();
  });

  const cases = [...triedOn(debian, DPKG_CASES, 10), ...triedOn(debian, HOST_CASES, 6)];
  it.each(cases)('$title', async (one) => {
    const { admin = [], late = [], first, here = '', next, plan } = one;
    const { broken = false, holds = '', also = [], lost = [] } = one;
    const adminFolder = join(media.path, `admin-${(folders += 1)}`);
    await mkdir(adminFolder);
    for (const deb of admin) await buildDeb(adminFolder, deb);
    await rm(join(media.path, 'late'), { recursive: true, force: true });
    for (const deb of late) await buildDeb(join(media.path, 'late'), deb);
    const named = [...admin, ...late, ...(first?.debs ?? []), ...next.debs];
    const request: CaseRequest = {
      admin: admin.length > 0 ? [`/media/admin-${folders}/*.deb`] : [],
      broken,
      first: first ? await built(first) : null,
      here,
      next: await built(next),
      holds,
      names: [...new Set(named.map(({ name }) => name))],
    };
    const asked = await ask(request);
    if ('noAnswer' in asked) throw new Error(asked.noAnswer.stderr);
    const result = asked.answer;
    expect(result.wrong).toBe('');
    if (plan instanceof RegExp) {
      expect(result.error).toMatch(plan);
      expect(result.left).toEqual(lost);
    } else {
      expect(result).toMatchObject({ error: '', announced: plan, did: [...plan, ...also].toSorted() });
    }
  });
});
