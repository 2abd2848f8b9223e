import { once } from 'node:events';
import { Flags } from '@oclif/core';
import type { Logger } from 'pino';
import { formatPlace } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { openLog } from '#cli/open-log';
import { NOTIFY_FAILED, notifyReady } from '#cli/notify-ready';
import {
  type Configuration,
  type GivenSettings,
  readConfiguration,
  requireSetting,
} from '../settings/configuration.ts';
import {
  allowRemovalsFlag,
  configurationFlags,
  environmentFlag,
  hubFlags,
  registryFlags,
} from '../settings/configuration-flags.ts';
import { hasNoSites, openHub } from '../hub/open-hub.ts';
import { openKeyDirectory } from '../keys/key-directory.ts';
import { DEFAULT_LISTEN, type ListenAddress, parseListen } from '../hub/http/listen-address.ts';
import { readPeople } from '../hub/people/read-people.ts';
import { dutiesOf } from '../hub/serve/duties.ts';
import { lead, exposeLeadership } from '../hub/serve/lead.ts';
import { createLoopRoutes } from '../hub/serve/loop-routes.ts';
import { isDatabaseUrl } from '../settings/database-url.ts';
import { registerFleetMetrics } from '../hub/http/metrics/fleet-metrics.ts';
import { createMetrics } from '../hub/http/metrics/metrics.ts';
import { AGENT_QUOTA } from '../hub/http/quota.ts';
import type { Finding } from '../hub/examine/finding.ts';
import { certificateSource } from '../hub/http/certificate-source.ts';
import { startHub } from '../hub/serve/start-hub.ts';

const { platform, cache, map, images, registry } = configurationFlags;

export default class Serve extends FleetCommand {
  static override description =
    'Run the hub: agents enrol, renew their certificates and hand over reports; people and monitors see what runs where. With a platform it also builds, and publishes where a registry is configured, whenever a repository changes.\n\nLogs one JSON object a line to standard output. On SIGTERM it finishes running work and exits.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --hostname hub.example --listen 0.0.0.0:8443',
    '<%= config.bin %> <%= command.id %> --config /etc/fleet/fleet-scheduler.yaml',
    '<%= config.bin %> <%= command.id %> --check --config /etc/fleet/fleet-scheduler.yaml',
  ];
  static override flags = {
    ...hubFlags,
    ...registryFlags,
    platform,
    cache,
    map,
    images,
    registry,
    environment: environmentFlag('Build only this environment'),
    'allow-removals': allowRemovalsFlag,
    'pull-images': Flags.boolean({
      description: 'Pull images that are in no layout from their registries',
    }),
    tree: Flags.string({
      description: 'Destination of rendered trees after each build: git+<URL>[#branch] or gitops',
      env: 'FLEET_TREE',
    }),
    'tree-pull-request': Flags.boolean({
      description:
        'Propose rendered trees on a branch of their own, as a pull request where a token is given',
    }),
    forge: Flags.string({
      description:
        'Kind of forge of the repository of the trees: github, gitea, gitlab or azure, with =<address of its API>',
      env: 'FLEET_FORGE',
    }),
    poll: Flags.string({
      description: 'Interval between two checks of the repositories, such as 30s, 5m or 1h [default: 1m]',
      env: 'FLEET_POLL',
    }),
    retention: Flags.string({
      description:
        'Age from which on reports, events and history are removed, such as 400d [default: everything is kept]',
      env: 'FLEET_RETENTION',
    }),
    'webhook-secret-file': Flags.string({
      description: 'File whose first line is the shared secret of webhooks',
      env: 'FLEET_WEBHOOK_SECRET_FILE',
    }),
    'check-secret-file': Flags.string({
      description:
        'File whose first line is the secret that webhook checks of PromotionPolicies share with the hub',
      env: 'FLEET_CHECK_SECRET_FILE',
    }),
    listen: Flags.string({
      description: `<host>:<port>; port 0 takes a free one [default: ${DEFAULT_LISTEN}]`,
      env: 'FLEET_LISTEN',
    }),
    hostname: Flags.string({
      description: 'DNS name or address that agents know the hub by [default: this machine and localhost]',
      env: 'FLEET_HOSTNAMES',
      ...repeatable,
      delimiter: ',',
    }),
    'tls-cert-file': Flags.string({
      description: "PEM certificate with its chain to show, instead of one by the fleet's authority",
      env: 'FLEET_TLS_CERT_FILE',
    }),
    'tls-key-file': Flags.string({
      description: 'PEM private key of that certificate',
      env: 'FLEET_TLS_KEY_FILE',
    }),
    check: Flags.boolean({
      description:
        'Try the configuration and do not serve: files, keys, database, repository, registry, sign-in, receivers of alarms. Changes and sends nothing. Exit code 2 for a mistake in the file, 8 for another',
    }),
    'send-to': Flags.string({
      description: 'With --check: mail servers get a test message for this address',
      dependsOn: ['check'],
    }),
  };

  async run(): Promise<{ readonly findings: readonly Finding[] } | undefined> {
    const { flags } = await this.parse(Serve);
    if (flags.check) return await this.#check(flags);
    const clock = this.#clock(flags.now);
    const configuration = await readConfiguration(flags, process.cwd());
    const listen = parseListen(configuration.listen ?? DEFAULT_LISTEN);
    const log = openLog();
    await this.#serve(configuration, listen, clock, log);
    return undefined;
  }

  async #check(
    flags: GivenSettings & { readonly now?: string | undefined; readonly 'send-to'?: string | undefined },
  ): Promise<{ readonly findings: readonly Finding[] }> {
    const { examineHub } = await import('../hub/examine/examine-hub.ts');
    const { env } = process;
    const [cwd, now] = [process.cwd(), this.readNow(flags.now)];
    const findings = await examineHub(flags, {
      cwd,
      env,
      now,
      signal: this.signal,
      sendTo: flags['send-to'],
    });
    this.print({
      rows: findings.map(({ name, verdict, message, at }) => [
        name,
        verdict,
        at === undefined ? message : `${formatPlace(at)}: ${message}`,
      ]),
    });
    const bad = findings.filter(({ verdict }) => verdict === 'bad');
    if (bad.length > 0) process.exitCode = bad.some(({ name }) => name === 'configuration') ? 2 : 8;
    return { findings };
  }

  async #serve(
    configuration: Configuration,
    listen: ListenAddress,
    clock: () => Date,
    log: Logger,
  ): Promise<void> {
    await using hub = await openHub(configuration, { create: await hasNoSites(configuration) });
    const { store } = hub;
    const db = requireSetting(configuration, 'db');
    const authority = await hub.keys.authority();
    const certificate = certificateSource(configuration, authority, listen);
    const { root } = hub.keys;
    if (root.dev) log.warn({ fleet: root.fleet }, 'development root: one person can sign everything');
    const metrics = createMetrics(store.db, clock);
    registerFleetMetrics(metrics.registry, { hub });
    const stop = new AbortController();
    using ending = new DisposableStack();
    ending.defer(() => stop.abort());
    const routes = await createLoopRoutes({
      configuration,
      clock,
      log,
      store,
      wake: (what) => leadership.wake(what),
      signal: stop.signal,
    });
    const authoring = await authoringOf(configuration, clock, stop.signal);
    const duties = dutiesOf({ configuration, hub, clock, log, metrics, env: process.env, authoring });
    await using leadership = await lead({ db, store, duties, clock, log });
    exposeLeadership(metrics.registry, leadership);
    await using running = await startHub({
      hub,
      listen,
      authority,
      certificate,
      metrics,
      clock,
      log,
      ...routes,
      authoring,
      onSiteChange: () => leadership.wake('sites'),
      onReport: () => leadership.wake('judge'),
      leadership: isDatabaseUrl(db) ? leadership : undefined,
      people: await readPeople(configuration),
      setUp: {
        signIn: configuration.signIn !== undefined,
        alarms: (configuration.alarms?.receivers ?? []).length > 0,
      },
      values: {
        review: configuration.siteValues,
        readKeys: () => openKeyDirectory(requireSetting(configuration, 'keys')),
        write: authoring?.saveValues,
        open: authoring?.openValues,
      },
      agentQuota: { ...AGENT_QUOTA, ...configuration.agentQuota },
    });
    log.info({ fleet: root.fleet, root: root.version, host: running.host, port: running.port }, 'listening');
    const ended = AbortSignal.any([this.signal, store.moved]);
    await notifyReady(process.env, ended, (reason) => log.warn({ reason }, NOTIFY_FAILED));
    if (!ended.aborted) await once(ended, 'abort');
    log.info('stopping');
    // An error, so that the service manager starts it again.
    store.moved.throwIfAborted();
  }

  /** The clock advances from --now, so that certificates become due. */
  #clock(now: string | undefined): () => Date {
    if (now === undefined) return () => new Date();
    const offset = this.readNow(now).getTime() - Date.now();
    return () => new Date(Date.now() + offset);
  }
}

/** Loaded only with a platform: it needs all that a build needs. */
const authoringOf = async (configuration: Configuration, clock: () => Date, signal: AbortSignal) => {
  if (configuration.platform === undefined) return undefined;
  const { openAuthoring } = await import('../author/serve/open-authoring.ts');
  return openAuthoring({ configuration, env: process.env, cwd: process.cwd(), clock, signal });
};
