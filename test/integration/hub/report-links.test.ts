import { link, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentFolder, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import { LONG } from '../../harness/run/long.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { chain, happenings, report } from '../../scheduler/hub/test-hub.ts';
import { enroll, networkAgent, newToken, startOffice } from './hub-process.ts';

const LINKS = LONG ? 20_000 : 2_000;
/** With 20,000 links 3.7 CPU seconds and 206 MB were measured, at a load of 30. */
const MAX_CPU_SECONDS = 15;
const MAX_MB = 300;

/** Writes what the process used when it ends. maxRSS would count what this process had when it started the other one. */
const METER = `import { readFileSync, writeFileSync } from 'node:fs';
process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const [, kibibytes] = /VmHWM:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'));
  writeFileSync(process.env.USED, JSON.stringify({ cpu: userCPUTime + systemCPUTime, kibibytes: Number(kibibytes) }));
});`;

it(`imports one report once where a medium has ${LINKS} links to it, in seconds and 300 MB`, async () => {
  await using office = await startOffice();
  const agent = networkAgent('plant-7/press-1');
  {
    await using hub = await office.serve();
    await enroll(hub.url, office.authority, agent, await newToken(office, agent.site));
  }
  const layout = join(office.path, 'layout');
  await mkdir(layout, { recursive: true });
  await writeFile(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(join(layout, 'index.json'), '{"schemaVersion":2,"manifests":[]}');
  const stick = join(office.path, 'stick');
  await report(stick, agent, chain(agent, happenings(5)));
  const folder = join(stick, REPORTS_FOLDER, agentFolder(agent.id));
  const genuine = join(folder, '000000000001-000000000005');
  await mkdir(folder, { recursive: true });
  for (let at = 0; at < LINKS; at += 1)
    for (const ending of ['sigstore.json', 'ndjson'])
      await link(`${genuine}.${ending}`, join(folder, `a${at}.${ending}`));
  const [meter, used] = [join(office.path, 'meter.mjs'), join(office.path, 'used.json')];
  await writeFile(meter, METER);
  const run = [process.execPath, '--import', meter, programFile('scheduler'), 'reports', 'import', stick];
  const { stdout } = await runOrFail(run, {
    cwd: office.path,
    env: { PATH: process.env['PATH'], HOME: office.path, USED: used },
  });
  expect(stdout).toMatch(/plant-7\/press-1/);
  const usage = JSON.parse(await readFile(used, 'utf8')) as { cpu: number; kibibytes: number };
  const cpuSeconds = usage.cpu / 1e6;
  const megabytes = Math.round((usage.kibibytes * 1024) / 1e6);
  expect(megabytes, stdout).toBeLessThan(MAX_MB);
  expect(cpuSeconds, stdout).toBeLessThan(MAX_CPU_SECONDS);
  if (LONG) process.stdout.write(`${LINKS} links: ${cpuSeconds.toFixed(1)} CPU s, ${megabytes} MB\n`);
}, 600_000);
