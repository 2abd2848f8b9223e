import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import type { X509Certificate } from 'node:crypto';
import { createServer, isIP } from 'node:net';
import { dirname } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { openLayout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { certificatesOf } from '#bundles/transport/registry/registry-access';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { refuseUnfinishedRestore } from '../../release/write/unfinished-restore.ts';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { describeDatabase, isDatabaseUrl } from '../../settings/database-url.ts';
import { certificateSource } from '../http/certificate-source.ts';
import { DEFAULT_LISTEN, parseListen } from '../http/listen-address.ts';
import { type CertificateSource, obtainCertificate } from '../http/server-certificate.ts';
import { hasNoSites } from '../open-hub.ts';
import { examineStore } from '../store/examine-store.ts';
import { storeExists } from '../store/open-store.ts';
import { readWebhookSecret } from '../webhook/read-webhook-secret.ts';
import type { Part, Tried } from './finding.ts';

/** Roles whose keys the hub signs with. The keys of the officers are never at the hub. */
const ROLES = ['bundle', 'release', 'lease', 'receipt', 'audit'] as const;

/** Keys, layout, database, address and certificate. Reads and listens, and changes nothing. */
export const officeParts = (configuration: Configuration, now: Date): readonly Part[] => {
  const { tlsCertFile, webhookSecretFile, checkSecretFile, caFile } = configuration;
  const listen = parseListen(configuration.listen ?? DEFAULT_LISTEN);
  const keys = () => openKeyDirectory(requireSetting(configuration, 'keys'));
  return [
    { name: 'keys', path: ['keys'], attempt: () => tryKeys(configuration) },
    { name: 'layout', path: ['layout'], attempt: () => tryLayout(configuration) },
    {
      name: 'database',
      path: ['db'],
      attempt: async () => tryDatabase(configuration, (await keys()).root.fleet),
    },
    { name: 'address', path: ['listen'], attempt: () => tryAddress(listen.host, listen.port) },
    {
      name: 'certificate',
      path: [tlsCertFile === undefined ? 'hostnames' : 'tlsCertFile'],
      attempt: async () => {
        const authority = await (await keys()).authority();
        return tryCertificate(configuration, certificateSource(configuration, authority, listen), now);
      },
    },
    ...secretPart('secret of webhooks', 'webhookSecretFile', webhookSecretFile),
    ...secretPart('secret of checks', 'checkSecretFile', checkSecretFile),
    ...(caFile === undefined
      ? []
      : [{ name: 'authorities', path: ['caFile'], attempt: async () => tryAuthorities(caFile) }]),
  ];
};

const secretPart = (name: string, setting: string, file: string | undefined): readonly Part[] =>
  file === undefined
    ? []
    : [
        {
          name,
          path: [setting],
          attempt: async () => {
            await readWebhookSecret(file);
            return `${file} can be read`;
          },
        },
      ];

const tryAuthorities = async (file: string): Promise<Tried> => {
  certificatesOf(file);
  return `${file} can be read`;
};

const tryKeys = async (configuration: Configuration): Promise<Tried> => {
  const { root, key, authority } = await openKeyDirectory(requireSetting(configuration, 'keys'));
  await authority();
  for (const role of ROLES) await key(role);
  const message = `root ${root.version} of fleet ${root.fleet}, and a key for ${ROLES.join(', ')}`;
  if (root.dev)
    return {
      verdict: 'warning',
      message: `${message}; it is a development root: one person can sign everything`,
    };
  return message;
};

const tryLayout = async (configuration: Configuration): Promise<Tried> => {
  const layout = requireSetting(configuration, 'layout');
  await refuseUnfinishedRestore(layout);
  const { manifests } = await openOrStartLayout(layout);
  await checkWritable(layout);
  if (manifests.length === 0) return `${layout} has nothing yet; the first build or enrolment writes it`;
  return `${layout} has ${formatCount(manifests.length, 'manifest')}`;
};

const tryDatabase = async (configuration: Configuration, fleet: string): Promise<Tried> => {
  const db = requireSetting(configuration, 'db');
  const name = describeDatabase(db);
  if (!(await storeExists(db))) {
    if (!(await hasNoSites(configuration)))
      throw new FleetError(
        'SITE_MISSING',
        `there is no hub database at ${name}, but the layout has statements of sites`,
        { hint: 'Check db, or restore a backup' },
      );
    if (!isDatabaseUrl(db)) await checkWritable(db);
    return `${name} is empty; the hub creates its tables when it starts`;
  }
  if (!isDatabaseUrl(db)) await checkWritable(db);
  const { sites, missing } = await examineStore(db, fleet);
  if (sites > 0) await openLayout(requireSetting(configuration, 'layout'));
  const what = `${name} has ${formatCount(sites, 'site')} of fleet ${fleet}`;
  if (missing === 0) return what;
  return `${what}; the hub changes its tables for this version when it starts`;
};

/** @throws FleetError PERMISSION */
const checkWritable = async (path: string): Promise<void> => {
  const place = await nearest(path);
  await access(place, constants.W_OK).catch((error: unknown) => {
    throw toFleetError(error, `writing ${place}`);
  });
};

const nearest = async (path: string): Promise<string> => {
  const found = await stat(path).catch(() => undefined);
  return found || dirname(path) === path ? path : nearest(dirname(path));
};

const tryAddress = async (host: string, port: number): Promise<Tried> => {
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, 'listening');
    return `${host}:${port} is free`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      return {
        verdict: 'warning',
        message: `a program listens at ${host}:${port} already. That is right while the hub runs`,
      };
    if (code === 'EADDRNOTAVAIL')
      throw new FleetError('USAGE', `this machine has no address ${host}`, {
        hint: 'Listen at 0.0.0.0 for all of its addresses',
      });
    if (code === 'ENOTFOUND')
      throw new FleetError('USAGE', `the name ${host} has no address`, { hint: 'Give an address in listen' });
    throw toFleetError(error, `listening at ${host}:${port}`);
  } finally {
    server.close();
  }
};

const tryCertificate = async (
  configuration: Configuration,
  source: CertificateSource,
  now: Date,
): Promise<Tried> => {
  const { leaf, to } = await obtainCertificate(source, now);
  const until = to.toISOString().slice(0, 10);
  const wanted = [
    ...(configuration.signIn ? [new URL(configuration.signIn.publicUrl).hostname] : []),
    ...(configuration.hostnames ?? []),
  ];
  const lacking = wanted.filter((name) => !isFor(leaf, name.replaceAll(/[[\]]/g, '')));
  if (lacking.length > 0)
    return { verdict: 'bad', message: `the certificate is not for ${[...new Set(lacking)].join(', ')}` };
  if (source.kind === 'files') return `${source.certificateFile} and its key belong together, until ${until}`;
  return `the fleet's authority issues one for ${source.hostnames.join(', ')}`;
};

const isFor = (certificate: X509Certificate, name: string): boolean =>
  (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
