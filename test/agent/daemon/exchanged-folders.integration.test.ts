import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ErrorCode, isFleetError } from '#bundles/errors';
import { agentFolder, reportName, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { loadKey } from '../../../agent/hub/agent-key.ts';
import { exportReports } from '../../../agent/report/export-reports.ts';
import { readTemplate } from '../../harness/fleets/folder-template.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { createWorld, onePackage, SITE } from '../world.ts';

const MALLORY = 65_534;
const CANARY = 'canary-4e1b of root';

/** Exchanges at once, by renameat2, a folder of the medium and a link beside it, one after the other, until it is killed. */
const EXCHANGE = `
import ctypes, os, random, sys, time
medium, elsewhere = sys.argv[1:]
os.chdir(medium)
pairs = []
for folder, to in [('fleet', ''), ('fleet/reports', 'reports'), ('blobs', 'blobs'), ('blobs/sha256', 'blobs/sha256')]:
    link = folder + '-link'
    os.symlink(os.path.join(elsewhere, to), link)
    pairs.append((folder.encode(), link.encode()))
call = ctypes.CDLL(None, use_errno=True).renameat2
os.write(1, b'ready')
while True:
    pair = random.choice(pairs)
    if call(-100, pair[0], -100, pair[1], 2) == 0:
        time.sleep(random.random() * 0.003)
        call(-100, pair[0], -100, pair[1], 2)
    time.sleep(random.random() * 0.02)
`;

describe.skipIf(process.getuid?.() !== 0)('a medium whose folders belong to another user', () => {
  it('M43: that she exchanges for links to folders of root while the agent imports and exports, lead nowhere -> MEDIUM_INVALID', async () => {
    await using world = await createWorld();
    const medium = await world.medium({
      release: { version: 1, bundle: packTestBundle(world.fleet, [onePackage('app', 'one')]) },
    });
    const elsewhere = join(world.folder, 'elsewhere');
    const reports = join('reports', agentFolder(`${SITE}/kiosk-1`));
    // What root would read, quote, replace or remove as superseded where it followed a link.
    await cp(join(medium, 'blobs'), join(elsewhere, 'blobs'), { recursive: true });
    await mkdir(join(elsewhere, reports), { recursive: true });
    await chmod(elsewhere, 0o700);
    for (const name of ['medium.json', `${reports}/${reportName(1, 1)}.ndjson`])
      await writeFile(join(elsewhere, name), CANARY, { mode: 0o600 });
    const before = await readTemplate(elsewhere);
    await mkdir(join(medium, REPORTS_FOLDER), { recursive: true });
    await runOrFail(['chown', '-R', `${MALLORY}:${MALLORY}`, medium]);
    await chmod(world.folder, 0o711);

    const key = await loadKey(world.agent);
    const said: string[] = [];
    const answerOf = async (work: Promise<unknown>): Promise<ErrorCode | 'ACCEPT'> => {
      try {
        await work;
        return 'ACCEPT';
      } catch (error) {
        if (!isFleetError(error)) throw error;
        said.push(`${error}`);
        return error.code;
      }
    };
    // Reports are only written by an agent that accepted something.
    await importMedium(world.agent, medium);
    const mallory = spawn('python3', ['-c', EXCHANGE, medium, elsewhere], { uid: MALLORY, gid: MALLORY });
    const codes = { imports: new Set<string>(), exports: new Set<string>() };
    try {
      await once(mallory.stdout, 'data');
      for (let at = 0; at < 150; at += 1) {
        codes.imports.add(await answerOf(importMedium(world.agent, medium)));
        codes.exports.add(await answerOf(exportReports(world.agent, key, medium)));
      }
      expect(mallory.exitCode).toBeNull();
    } finally {
      mallory.kill('SIGKILL');
    }
    expect([...codes.imports].toSorted()).toEqual(['ACCEPT', 'MEDIUM_INVALID']);
    expect([...codes.exports].toSorted()).toEqual(['ACCEPT', 'MEDIUM_INVALID']);
    expect(await readTemplate(elsewhere)).toEqual(before);
    expect(said.join('\n')).not.toContain('is a folder, not a folder');
    expect(said.join('\n') + JSON.stringify(world.events())).not.toContain(CANARY.slice(0, 11));
  });
});
