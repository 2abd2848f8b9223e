import type { Place } from '#bundles/errors';
import type { Manifest } from '../imported.ts';
import type { KnownCluster } from '../read/known-clusters.ts';
import { kindOf, nameOf, type PlacedManifest, textAt, textsAt } from '../read/manifests.ts';
import type { NoteBook } from '../read/notes.ts';

export type Destinations = { readonly clusters: readonly KnownCluster[] };

const LOCAL = 'https://kubernetes.default.svc';

/** Clusters of the file, those of Argo CD's cluster Secrets in the repository, and the one that Argo CD runs on. */
export const openDestinations = (
  given: readonly KnownCluster[],
  all: readonly PlacedManifest[],
  notes: NoteBook,
): Destinations => {
  const secrets = all.filter(
    ({ value }) =>
      kindOf(value) === 'Secret' &&
      textsAt(value, 'metadata', 'labels')['argocd.argoproj.io/secret-type'] === 'cluster',
  );
  const read = secrets.map(({ value, at }): KnownCluster => {
    const field = (key: string): string =>
      textAt(value, 'stringData', key) ??
      Buffer.from(textAt(value, 'data', key) ?? '', 'base64').toString('utf8');
    notes.add('told', at, `Secret ${nameOf(value)}`, {
      what: 'it is read as a cluster; its credentials are not copied',
      todo: 'Enrol an agent on that cluster',
    });
    return {
      name: field('name') === '' ? nameOf(value) : field('name'),
      server: field('server'),
      labels: textsAt(value, 'metadata', 'labels'),
      annotations: textsAt(value, 'metadata', 'annotations'),
      values: {},
      groups: [],
    };
  });
  const local: KnownCluster = {
    name: 'in-cluster',
    server: LOCAL,
    labels: {},
    annotations: {},
    values: {},
    groups: [],
  };
  const known = [...given, ...read.filter((one) => !given.some(({ name }) => name === one.name))];
  return {
    clusters: known.some(({ server, name }) => server === LOCAL || name === 'in-cluster')
      ? known
      : [local, ...known],
  };
};

/** The name of the cluster that an Application goes to. */
export const findDestination = (
  application: Manifest,
  at: Place,
  subject: string,
  { clusters }: Destinations,
  notes: NoteBook,
): string => {
  const name = textAt(application, 'spec', 'destination', 'name');
  if (name !== undefined) return name;
  const server = textAt(application, 'spec', 'destination', 'server') ?? LOCAL;
  const known = clusters.find((one) => one.server === server);
  if (known) return known.name;
  // With port and path: clusters behind one host, such as a proxy of Rancher, differ in nothing else.
  const called = server
    .replace(/^[a-z]+:\/\//, '')
    .replaceAll(/[:/]+/g, '-')
    .replace(/-$/, '');
  notes.add('told', at, subject, {
    what: `its cluster ${server} has no name in the repository, so it is called ${called}`,
    todo: 'Name it in a file of clusters: - {name: plant-7, server: https://...}, and import with --clusters FILE',
  });
  return called;
};
