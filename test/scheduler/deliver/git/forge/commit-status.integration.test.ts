import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chooseForge } from '../../../../../scheduler/deliver/git/forge/choose-forge.ts';
import { startForge } from '../../../../harness/neighbours/forge-server.ts';
import { writeOneCommit } from '../../../../harness/neighbours/one-commit.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';

test.for(['gitlab', 'azure'] as const)(
  "%s: a commit status has the forge's names of the states",
  async (kind) => {
    await using folder = await temporaryDirectory('commit-status');
    const repository = join(folder.path, 'app.git');
    const commit = await writeOneCommit(repository);
    await using server = await startForge(kind, repository);
    const path = kind === 'azure' ? 'org/_git/gitops' : 'org/gitops';
    await using forge = chooseForge(`https://git.example/${path}`, {
      forge: `${kind}=${server.api}`,
      env: { FLEET_FORGE_TOKEN: 'secret' },
      connection: { plainHttp: [], env: {} },
      signal: new AbortController().signal,
    });
    const status = { commit, context: 'qa environment', description: 'Promoted' } as const;
    await forge?.setCommitStatus({ ...status, state: 'pending' });
    // GitLab refuses to set the state that a status has.
    await forge?.setCommitStatus({ ...status, state: 'pending' });
    await forge?.setCommitStatus({ ...status, state: 'failure', url: 'https://hub.example/qa' });
    expect(server.statuses.at(0)).toMatchObject({ sha: commit, state: 'pending', context: 'qa environment' });
    expect(server.statuses.at(-1)).toMatchObject(
      kind === 'azure'
        ? {
            state: 'failed',
            description: 'Promoted',
            targetUrl: 'https://hub.example/qa',
            genre: 'fleet-ferry',
          }
        : { state: 'failed', description: 'Promoted', target_url: 'https://hub.example/qa' },
    );
    await expect(
      forge?.setCommitStatus({ ...status, state: 'success', commit: '0'.repeat(40) }),
    ).rejects.toMatchObject({ code: 'FORGE_REFUSED' });
  },
);

test.for(['github', 'gitea'] as const)(
  '%s: a commit status has context, state and a short description',
  async (kind) => {
    await using folder = await temporaryDirectory('commit-status');
    const repository = join(folder.path, 'app.git');
    const commit = await writeOneCommit(repository);
    await using server = await startForge(kind, repository);
    await using forge = chooseForge('https://git.example/org/gitops', {
      forge: `${kind}=${server.api}`,
      env: { FLEET_FORGE_TOKEN: 'secret' },
      connection: { plainHttp: [], env: {} },
      signal: new AbortController().signal,
    });
    const status = { commit, context: 'fleet-ferry/qa', state: 'success' } as const;
    // A wrench has two UTF-16 units, of which the first alone would fit.
    const description = `${'d'.repeat(139)}\u{1f527} and more`;
    await forge?.setCommitStatus({ ...status, description, url: 'https://hub.example/qa' });
    await forge?.setCommitStatus({ ...status, state: 'failure', description: 'two agents failed' });
    expect(server.statuses).toEqual([
      {
        sha: commit,
        state: 'success',
        context: 'fleet-ferry/qa',
        description: `${'d'.repeat(139)}\u{fffd}`,
        target_url: 'https://hub.example/qa',
      },
      { sha: commit, state: 'failure', context: 'fleet-ferry/qa', description: 'two agents failed' },
    ]);
    await expect(
      forge?.setCommitStatus({ ...status, commit: '0'.repeat(40), description: '' }),
    ).rejects.toMatchObject({ code: 'FORGE_REFUSED' });
    server.failNext = { status: 503, message: 'maintenance' };
    await expect(forge?.setCommitStatus({ ...status, description: '' })).rejects.toMatchObject({
      code: 'FORGE_UNREACHABLE',
    });
  },
);
