import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Candidate } from '#bundles/formats/candidate';
import { canonicalBytes } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import {
  checkFleet,
  checkRest,
  checkSources,
  checkTools,
} from '../../../../scheduler/assemble/candidate/check-candidate.ts';
import type { GivenCandidate } from '../../../../scheduler/assemble/candidate/given-candidate.ts';
import { lockedSources } from '../../../../scheduler/assemble/candidate/locked-sources.ts';
import { platformOf } from '../../../../scheduler/assemble/candidate/platform-of.ts';
import { readCandidate } from '../../../../scheduler/assemble/candidate/read-candidate.ts';
import type { Location, Revision } from '../../../../scheduler/model/location.ts';
import type { SourceRequest, Sources } from '../../../../scheduler/load/sources/open-sources.ts';
import { temporaryDirectory } from '../../file-tree.ts';
import { told, toldLater } from '../../told.ts';

const signal = new AbortController().signal;
const REPO = 'https://example.com/platform';
const SHOP = 'https://example.com/shop.git';
const commit = (digit: string): string => digit.repeat(40);
const source = (role: string, more: Partial<CandidateSource> = {}): CandidateSource => ({
  role,
  repo: REPO,
  path: '.',
  tree: digestOf(role),
  ref: 'main',
  commit: commit('a'),
  ...more,
});
const give = (more: Partial<Candidate> = {}): GivenCandidate => {
  const document: Candidate = {
    fleet: 'halden',
    environment: 'dev',
    sources: [
      source('application/shop-web', { repo: SHOP, path: 'web', commit: commit('c') }),
      source('environment/dev', { ref: 'dev', commit: commit('b') }),
      source('platform', { path: '.environments' }),
      source('workload/shop', { repo: SHOP, path: 'deploy', commit: commit('c') }),
    ],
    images: [],
    charts: [],
    ...more,
  };
  return { document, digest: digestOf(canonicalBytes(document)) };
};

/** Sources that only say what they were asked for. */
const spy = () => {
  const asked: SourceRequest[] = [];
  const sources: Sources = {
    locate: (repo, revision) => ({ kind: 'git', repo, revision }),
    read: async (request) => {
      asked.push(request);
      return undefined as never;
    },
  };
  return { asked, sources };
};
const at = (repo: string, revision: Revision = { kind: 'head' }): Location => ({
  kind: 'git',
  repo,
  revision,
});
const branch = (name: string): Revision => ({ kind: 'branch', name });

describe('the sources of a candidate', () => {
  it('are read at its commits, and keep the name of the requested branch', async () => {
    const { asked, sources } = spy();
    const locked = lockedSources(sources, give(), 'dev');
    await locked.read({ role: 'workload/shop', location: at(SHOP, branch('main')), path: './deploy/' });
    await locked.read({ role: 'platform', location: at(REPO), path: '.' });
    expect(asked.map(({ location }) => location)).toEqual([
      at(SHOP, { kind: 'commit', commit: commit('c'), branch: 'main' }),
      at(REPO, { kind: 'commit', commit: commit('a'), branch: 'main' }),
    ]);
  });

  it('are refused when the candidate does not list them or took them from a directory', async () => {
    const { asked, sources } = spy();
    const { commit: _, ...directory } = source('platform', { repo: 'directory:platform' });
    const given = give({ sources: [directory] });
    const locked = lockedSources(sources, given, 'dev');
    expect(await toldLater(locked.read({ role: 'workload/new', location: at(SHOP), path: '.' }))).toContain(
      'has no workload/new',
    );
    expect(await toldLater(locked.read({ role: 'platform', location: at(REPO), path: '.' }))).toContain(
      'CANDIDATE_MISMATCH: platform: candidate sha256:',
    );
    expect(asked).toEqual([]);
  });

  it('for another environment use its current layer, and its own targets at the commits of the same repositories', async () => {
    const { asked, sources } = spy();
    const locked = lockedSources(sources, give(), 'qa');
    const wanted: readonly (readonly [string, Location])[] = [
      ['environment/qa', at(REPO, branch('qa'))],
      ['application/shop-other', at('https://example.com/shop', branch('main'))],
      ['application/shop-other', at(SHOP, branch('qa'))],
      ['workload/shop', at(SHOP, branch('main'))],
    ];
    for (const [role, location] of wanted) await locked.read({ role, location, path: '.' });
    const pinned = { kind: 'commit', commit: commit('c'), branch: 'main' } as const;
    expect(asked.map(({ location }) => location)).toEqual([
      at(REPO, branch('qa')),
      at('https://example.com/shop', pinned),
      at(SHOP, branch('qa')),
      at(SHOP, pinned),
    ]);
  });
});

describe('a build, compared with its candidate', () => {
  const given = give();
  const changed = given.document.sources.map((one) =>
    one.role === 'application/shop-web' ? { ...one, tree: digestOf('new') } : one,
  );

  it('must have read every source with the same files', () => {
    expect(told(() => checkSources(given, given.document.sources, 'dev', true))).toBe('');
    expect(told(() => checkSources(given, changed, 'dev', true))).toMatch(
      /application\/shop-web had the tree sha256:/,
    );
    expect(told(() => checkSources(given, given.document.sources.slice(1), 'dev', true))).toContain(
      'application/shop-web was not read',
    );
  });

  it('reports the error of a source that is no longer readable', () => {
    const gone = new FleetError('SOURCE_MISSING', `https://example.com/shop has no commit ${commit('c')}`);
    expect(() =>
      checkSources(given, given.document.sources.slice(1), 'dev', true, (role) =>
        role === 'application/shop-web' ? gone : undefined,
      ),
    ).toThrow(
      expect.objectContaining({
        code: 'SOURCE_MISSING',
        subject: 'application/shop-web',
        message: expect.stringMatching(/cannot be built again: https:.* has no commit c/) as string,
      }) as Error,
    );
  });

  it('for another environment may lack sources, but not differ in them', () => {
    expect(told(() => checkSources(given, given.document.sources.slice(1), 'qa', false))).toBe('');
    expect(told(() => checkSources(given, changed, 'qa', false))).toContain(
      'application/shop-web had the tree',
    );
  });

  it("must be of the candidate's fleet", () => {
    expect(told(() => checkFleet(given, 'halden'))).toBe('');
    expect(told(() => checkFleet(given, 'contoso'))).toContain(
      'is of the fleet halden, but the keys are of contoso',
    );
  });

  it('must use the same tool versions', () => {
    const by = (version: string) => [{ name: 'helm', version }];
    const tools = give({ tools: [{ name: 'fleet-scheduler', version: '0.0.1' }, ...by('v3.1.0')] });
    expect(told(() => checkTools(tools, by('v3.1.0')))).toBe('');
    expect(told(() => checkTools(tools, by('v4.0.0')))).toContain(
      'rendered by helm v3.1.0, and this machine has v4.0.0',
    );
    expect(told(() => checkTools(tools, [{ name: 'kustomize', version: 'v5' }]))).toContain(
      'not rendered by kustomize',
    );
  });

  it('must have the same images, charts and kept bundles', () => {
    const image = { name: 'a@sha256:1', digest: digestOf('a') };
    const chart = { name: 'oci://a/b', version: '1.0.0', digest: digestOf('b') };
    const full = give({
      images: [image],
      charts: [chart],
      kept: [{ clusterType: 'edge', bundle: digestOf('e') }],
    });
    expect(told(() => checkRest(full, full.document))).toBe('');
    expect(told(() => checkRest(full, { ...full.document, images: [] }))).toContain(
      'the image a@sha256:1 is not what it was',
    );
    expect(
      told(() => checkRest(full, { ...full.document, charts: [chart, { ...chart, name: 'oci://a/c' }] })),
    ).toContain('the chart oci://a/c is not among what it was made from');
    expect(told(() => checkRest(full, { ...full.document, kept: [] }))).toMatch(
      /earlier bundle of edge.*--previous/,
    );
  });
});

describe('a candidate', () => {
  it('is read by its digest from a layout, or from a file with any formatting', async () => {
    const directory = await temporaryDirectory();
    const { document, digest } = give();
    const bytes = canonicalBytes(document);
    const layout = openBlobDirectory(directory);
    await layout.write(digest, bytes.byteLength, bytes);
    expect(await readCandidate(digest, [layout], signal)).toEqual({ document, digest });
    const file = join(directory, 'candidate.json');
    await writeFile(file, JSON.stringify(document, null, 4));
    expect(await readCandidate(file, [], signal)).toEqual({ document, digest });
  });

  it('that is missing or invalid is refused, with the places that were searched', async () => {
    const directory = await temporaryDirectory();
    const layout = openBlobDirectory(directory);
    expect(await toldLater(readCandidate(digestOf('x'), [layout], signal))).toMatch(
      /^MISSING_BLOB: .*is not in /,
    );
    expect(await toldLater(readCandidate(join(directory, 'x.json'), [], signal))).toMatch(/^USAGE/);
    const file = join(directory, 'other.json');
    await writeFile(file, '{"fleet": "halden"}');
    expect(await toldLater(readCandidate(file, [], signal))).toMatch(/^SCHEMA/);
    await writeFile(file, 'not json');
    expect(await toldLater(readCandidate(file, [], signal))).toMatch(/^BAD_JSON/);
  });

  it('names its platform when that is a repository', () => {
    expect(platformOf(give().document)).toBe(`${REPO}#main:.`);
    const { ref: _, ...head } = source('platform', { path: 'fleet' });
    expect(platformOf(give({ sources: [head] }).document)).toBe(`${REPO}#:fleet`);
    const { commit: __, ...directory } = source('platform');
    expect(platformOf(give({ sources: [directory] }).document)).toBeUndefined();
  });
});
