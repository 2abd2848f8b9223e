import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const REPOSITORY = join(import.meta.dirname, '../..');
const FOLDER = join(REPOSITORY, '.github/workflows');

type Step = { readonly uses?: string; readonly run?: string };
type Job = {
  readonly steps?: readonly Step[];
  readonly environment?: string;
  readonly permissions?: object;
  readonly uses?: string;
};
type Workflow = { readonly permissions?: object; readonly jobs: Readonly<Record<string, Job>> };

const workflows = readdirSync(FOLDER).map((name) => {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  return { name, text, workflow: parse(text) as Workflow };
});
const steps = workflows.flatMap(({ name, workflow }) =>
  Object.values(workflow.jobs).flatMap(({ steps: own = [] }) => own.map((step) => ({ name, step }))),
);

describe('workflows', () => {
  it('pin each third-party action to a commit, with the version in a comment', () => {
    const used = workflows.flatMap(({ text }) => text.match(/^.*\buses: .*$/gm) ?? []);
    const ofOthers = used.filter((line) => !line.includes('uses: ./'));
    expect(ofOthers).not.toEqual([]);
    expect(
      ofOthers.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line)),
    ).toEqual([]);
  });

  it('have read permission on contents only, unless a job declares more', () => {
    expect(workflows.map(({ workflow }) => workflow.permissions)).toEqual(
      workflows.map(() => ({ contents: 'read' })),
    );
  });

  it('use no text of a pull request or branch name inside a shell command', () => {
    expect(steps.filter(({ step }) => step.run?.includes('${{'))).toEqual([]);
  });

  it('run scripts that package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
      scripts: object;
    };
    const named = steps.flatMap(({ step }) => [...(step.run ?? '').matchAll(/npm run (?:-s )?(\S+)/g)]);
    expect([...new Set(named.map(([, script]) => script))]).toEqual(['release']);
    expect(Object.keys(scripts)).toContain('release');
  });

  it('gives secrets to jobs of an environment alone, which asks its reviewers first', () => {
    const jobs = workflows.flatMap(({ workflow }) => Object.values(workflow.jobs));
    const withSecrets = jobs.filter((job) => JSON.stringify(job).includes('secrets.'));
    expect(withSecrets.map(({ environment }) => environment)).toEqual(['release']);
  });
});

describe('CODEOWNERS', () => {
  it('names paths that exist', () => {
    const lines = readFileSync(join(REPOSITORY, '.github/CODEOWNERS'), 'utf8').split('\n');
    const paths = lines.flatMap((line) => /^(\/\S+)/.exec(line)?.[1] ?? []);
    expect(paths).not.toEqual([]);
    expect(paths.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([]);
  });
});
