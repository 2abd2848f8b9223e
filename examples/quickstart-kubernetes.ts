/**
 * `npm run quickstart -- --kubernetes`: the story on a cluster. A plant of environment dev gets its releases from a registry and
 * tells a hub, until somebody cuts the cable; then by stick; then by cable again. What it reported opens the gate to qa, and
 * closes it again. The cluster is a node with real pods where this machine can have one (root, cgroups), and all of it is gone
 * when the story ends, but for what it wrote.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { styleText } from 'node:util';
import { openOffice } from './plant/office.ts';
import type { Plant } from './plant/plant.ts';
import { gatherParts, startPlant } from './plant/start-plant.ts';
import { timed } from './plant/timed.ts';
import { Broken, createStory, type Ran, sha256Of, tell } from './story.ts';

const SITE = 'plant-7';
const AGENT = 'line-1';
const CHANNEL = 'dev/factory-line';
const NAMESPACE = `${CHANNEL.replace('/', '-')}-`;
const CONTROL = 'line-control-line';
const APPS = {
  control: { app: 'line-control', folder: 'kubernetes' },
  telemetry: { app: 'telemetry', folder: 'edge' },
} as const;

/** A web server that ends at once. */
const BROKEN = ['/bin/httpd', '-f', '-h', '/nowhere'];

type AgentStatus = {
  readonly release: { readonly version: number } | null;
  readonly packages: readonly {
    readonly assignment: string;
    readonly status: string;
    readonly runs: { readonly release: number } | null;
    readonly wanted: object | null;
  }[];
  readonly outbox: { readonly events: number };
  readonly registry: { readonly failing: object | null };
  readonly hub: { readonly failing: object | null };
};
type HubStatus = {
  readonly rows: readonly { readonly assignment: string | null; readonly verdict: string }[];
  readonly gaps: readonly object[];
};

const main = async (signal: AbortSignal): Promise<void> => {
  const began = performance.now();
  const story = createStory('quickstart-kubernetes', { signal, inside: true });
  const { at, title, say, show, run, ask } = story;
  await using cleanup = new AsyncDisposableStack();
  const wait = (what: string, holds: () => Promise<boolean>): Promise<void> =>
    timed({ what, holds, signal, say });

  title('A site: plant-7, with a small cluster beside its production line');
  await story.begin();
  await mkdir(at('stick'));
  const { busybox, dockerRegistry } = await gatherParts(['busybox', 'dockerRegistry'], say, signal);
  const plant = cleanup.use(
    await startPlant({ name: AGENT, folder: at('plant'), stick: at('stick'), say, signal }),
  );
  cleanup.defer(async () => writeFile(at('agent.log'), await plant.log()));
  const site = (argv: readonly string[], expected?: number | readonly number[]): Promise<Ran> =>
    show(`${plant.prompt} ${argv.join(' ')}`, () => plant.run(argv), expected);
  const typed = (line: string, expected?: number | readonly number[]): Promise<Ran> =>
    site(line.split(' '), expected);
  await typed('kubectl get nodes');

  title('A platform team: keys, images, a registry, a hub');
  const [registry, hub] = [await plant.line(), await plant.line()];
  const office = openOffice(story, { busybox, registry, hub });
  const { scheduler } = office;
  await office.writeConfiguration();
  await scheduler('root', 'init', '--dev', '--fleet', 'halden');
  await office.makeImages();
  await scheduler('images', 'lock', '--update', '--images', at('images'));
  cleanup.use(await office.startRegistry(dockerRegistry));
  cleanup.use(await office.startHub());

  /** The same question, with an answer in JSON for programs. */
  const agentSays = async (): Promise<AgentStatus> =>
    parseAnswer(await plant.run(['fleet-agent', 'status', '--json']));
  const hubSays = async (): Promise<HubStatus> =>
    parseAnswer(await ask('fleet-scheduler', ['status', '--site', SITE, '--json']));
  const runs = async (release: number): Promise<boolean> => {
    const { release: now, packages } = await agentSays();
    return (
      now?.version === release &&
      packages.every(({ status, wanted }) => status === 'healthy' && wanted === null)
    );
  };
  const complies = async (): Promise<boolean> =>
    (await agentSays()).outbox.events === 0 &&
    (await hubSays()).rows.every(({ verdict }) => verdict === 'complies');
  const release = async (): Promise<void> => {
    await scheduler('images', 'lock', '--images', at('images'));
    await scheduler('build');
    await scheduler('publish');
  };

  /** Status of the newest pod of line-control. */
  const podSays = async (path: string): Promise<string> => {
    const words = `kubectl get pods -n ${NAMESPACE}${CONTROL} --sort-by=.metadata.creationTimestamp`.split(
      ' ',
    );
    return (await plant.run([...words, `-o=jsonpath={.items[-1:]${path}}`])).stdout;
  };
  const askForPage = async (): Promise<readonly string[]> =>
    `busybox wget -q -O - http://${await podSays('.status.podIP')}:8080`.split(' ');
  const page = async (): Promise<string> =>
    (await plant.run(['timeout', '2', ...(await askForPage())])).stdout;
  const readPage = async (): Promise<void> => {
    if (plant.pods === 'real') await site(await askForPage());
  };

  title('Release 1: built, signed and published');
  await scheduler('build');
  await scheduler('publish');

  title('The agent at the site: enrolled with a token that is good once');
  const made = await scheduler('tokens', 'create', '--site', SITE, '--agent', AGENT);
  const token = await plant.write('token', made.stdout);
  await configure(
    plant,
    { registry: office.registryAt(registry.known), plain: registry.known, hub: hub.known },
    say,
  );
  const sha256 = await sha256Of(at('keys', '1.root.json'));
  await typed(
    `fleet-agent enroll --site ${SITE} --name ${AGENT} --channel ${CHANNEL} --root-sha256 ${sha256} --token-file ${token}`,
  );
  await show(`${plant.prompt} ${plant.startCommand}`, plant.startAgent);

  title(`Nobody types anything: release 1 comes${plant.pods === 'real' ? ', its images too,' : ''} and runs`);
  await wait('Release 1 is healthy', () => runs(1));
  await typed('kubectl get deployments,pods --all-namespaces');
  await wait('The hub knows', complies);
  await scheduler('status', '--site', SITE);
  await readPage();

  title('Somebody helps with kubectl; the agent puts it back');
  const control = `${NAMESPACE}${CONTROL}`;
  const field = async (kind: string, path: string): Promise<string> =>
    (await plant.run([...`kubectl get ${kind} -n ${control} -o`.split(' '), `jsonpath={${path}}`])).stdout;
  const back = async (): Promise<boolean> =>
    (await field('deployment/line-control', '.spec.replicas}/{.status.readyReplicas')) === '1/1';
  await typed(`kubectl scale -n ${control} deployment/line-control --replicas=0`);
  await wait('It has its replica again', back);
  await typed(`kubectl set image -n ${control} deployment/line-control line-control=home-made:1`);
  await wait(
    'It has its image again',
    async () => !(await field('deployment/line-control', '..image')).includes('home-made'),
  );
  await typed(`kubectl delete -n ${control} deployment/line-control`);
  await wait('It is there again', back);
  await typed('fleet-agent history --limit 12');

  title('The cable is cut');
  await plant.cutOff();
  say('(Nothing passes between the plant and the office any more.)');
  if (plant.powerCut) {
    say('(And then the power fails, and comes back.)');
    await plant.powerCut();
  }
  await office.changeImage({ ...APPS.control, version: '5.1.0' });
  await release();
  say('That is release 2, and the plant does not hear of it. What it has goes on:');
  if (plant.pods === 'real') await wait('line-control answers', async () => (await page()) !== '');
  await readPage();
  await typed(`kubectl scale -n ${control} deployment/line-control --replicas=0`);
  await wait('It has its replica again, without anybody to ask', back);
  await wait('The agent knows that it is alone', async () => {
    const { registry: releases, hub: reports } = await agentSays();
    return releases.failing !== null && reports.failing !== null;
  });
  await typed('fleet-agent status', [0, 8]);
  say('At the office it takes some minutes of silence to be sure. Half an hour from now, the table says:');
  const later = new Date(Date.now() + 1_800_000).toISOString();
  await scheduler('status', '--site', SITE, '--now', `${later.slice(0, 19)}Z`);

  title('A technician carries the history to the office on a stick, and the release back');
  await typed(`fleet-agent reports export ${plant.stick}`);
  await scheduler('reports', 'import', at('stick'));
  const from = ['--from', office.registryAt(registry.listen), '--plain-http', registry.listen];
  await run('fleet-export', ['create', ...from, '--site', SITE, '--for', at('stick'), '--to', at('stick')]);
  await typed(`fleet-agent import ${plant.stick}`);
  await readPage();

  title('The cable is whole again: release 3 comes by network, and the history goes home automatically');
  await plant.reconnect();
  await office.changeImage({ ...APPS.control, version: '5.2.0' });
  await release();
  await wait('Release 3 is healthy', () => runs(3));
  await readPage();
  await wait('The hub has every event', complies);
  await typed('fleet-agent status');
  await scheduler('status', '--site', SITE);

  title('What the plant reported opens the gate from dev to qa: release 3 is promoted');
  await scheduler('promote', 'qa', '--explain');
  await scheduler('promote', 'qa', '--person', 'ann', '--reason', 'runs at plant-7', '--build');

  title('Release 4: a good telemetry, and a line-control that does not start');
  await office.changeImage({ ...APPS.telemetry, version: '1.9.0' });
  if (plant.pods === 'real') await office.changeImage({ ...APPS.control, version: '5.3.0', command: BROKEN });
  else await office.askForTooMuch(APPS.control);
  await release();
  await wait('line-control failed and went back, telemetry goes on', async () =>
    (await agentSays()).packages.every(({ assignment, status, runs: now }) =>
      assignment === CONTROL ? status === 'failed' && now?.release === 3 : now?.release === 4,
    ),
  );
  await typed('fleet-agent status', 7);
  // Until the node has ended it, the pod that did not start is the newest one.
  if (plant.pods === 'real') await wait('line-control answers as before', async () => (await page()) !== '');
  await readPage();
  await wait('The hub knows', async () =>
    (await hubSays()).rows.some(({ assignment, verdict }) => assignment === CONTROL && verdict === 'failed'),
  );
  await scheduler('status', '--site', SITE);
  const { gaps } = await hubSays();
  if (gaps.length > 0) throw new Broken('Events are missing at the hub.');
  say('From the first event to the last, none is missing.');

  title('The gate is closed for release 4, and names the plant; qa keeps what was promoted');
  await scheduler('promote', 'qa', '--explain');
  await scheduler('audit', 'list');

  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const folder = '.fleet/quickstart-kubernetes';
  process.stdout.write(`
${styleText('bold', 'Done')} in ${seconds} s. Cluster, registry and hub end now. Where to look next:
   ${folder}/agent.log   what the service at the site logged; hub.log beside it: the hub's
   ${folder}/stick       the stick; try: npx fleet-export inspect ${folder}/stick
   ${folder}/company     what the team wrote; examples/apps is what it began with
   docs/kubernetes.md                   what the agent does on a cluster, and why
   docs/operations/                     running the office, a site and the agent on a cluster
   docs/testing.md                      what of this was real on this machine
`);
};

const parseAnswer = ({ code, stdout, stderr }: Ran) => {
  // Exit codes 7 and 8: a package failed or drifted; the output names it.
  if (code === 0 || code === 7 || code === 8) return JSON.parse(stdout);
  throw new Broken(`The status cannot be had (exit code ${code}): ${stderr}${stdout}`);
};

const configure = async (
  plant: Plant,
  { registry, plain, hub }: { readonly registry: string; readonly plain: string; readonly hub: string },
  say: (text: string) => void,
): Promise<void> => {
  const lines = [
    ...plant.settings,
    `registry: ${registry}`,
    `plainHttp: [${plain}]`,
    `hub: https://${hub}`,
    'poll: 2s',
    'interval: 5s',
    'healthTimeout: 20s',
  ];
  const path = await plant.write('agent.yaml', `${lines.join('\n')}\n`);
  say(styleText('dim', `${plant.prompt} cat ${path}`));
  for (const line of lines) say(line);
};

await tell(main);
