import {
  fields,
  mapped,
  name,
  narrowed,
  objectName,
  optional,
  placed,
  record,
  refuse,
  required,
  type Shape,
  shortList,
  text,
  textLike,
} from '../../model/yaml/shape.ts';
import { SITE_SELECTOR } from './config-fields.ts';
import { repositoryPlace } from './field-places.ts';
import { type KindReader, kindReader } from './kalypso-kinds.ts';
import type { RepositoryFolder } from './platform-object.ts';

const channel = textLike(
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\/[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
  'is not <environment>/<cluster type>',
  'Write it like prod/factory-host',
);

/** Keys of a `siteSelector` that select by name. */
const NAMES = ['site', 'agent'] as const;

/** Labels of a site or agent, without the keys that select by name. */
const siteLabels: Shape<Readonly<Record<string, string>>> = mapped(
  record(text),
  (read, node, path, reading) => {
    const taken = NAMES.find((key) => Object.hasOwn(read, key));
    return taken === undefined
      ? read
      : refuse(reading, node, `${path}.${taken} is no label: layers select by name with it`, 'Leave it out');
  },
);

const agent = fields({
  name: required(name, 'Name of the agent, as it enrols.'),
  channel: optional(channel, undefined, 'The environment and cluster type that it follows.'),
  labels: optional(siteLabels, {}, 'Labels that it is enrolled with.'),
});

const agents = narrowed(shortList(placed(agent)), { uniqueItems: true }, (read, node, path, reading) => {
  const names = read.map(({ value }) => value.name);
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  return twice === undefined ? read : refuse(reading, node, `${path} names ${twice} twice`, 'Remove one');
});

const siteFields = fields({
  labels: optional(
    siteLabels,
    {},
    'Labels of all its agents, for layers of configuration. An own label of an agent overrides one with the same key.',
  ),
  agents: optional(
    agents,
    [],
    'Its agents. Keys, channels and labels that count are those of the enrolment; a difference is reported.',
  ),
});

const sitePattern = textLike(
  /^(?!(?:[^*]*\*){4})[a-z0-9*](?:[a-z0-9*-]{0,61}[a-z0-9*])?$/,
  'is not a pattern of site names',
  'Write it like plant-7 or plant-north-*; * stands for any characters',
);

/** Kinds about sites and who configures them. @param folder of a repository, as in a WorkloadRegistration */
export const siteKinds = (folder: Shape<RepositoryFolder>): Readonly<Record<string, KindReader>> => ({
  Site: kindReader(
    'A site as the platform expects it: labels that layers select by, and its agents. It enrols nobody, and moves no agent.',
    name,
    siteFields,
    ({ labels, agents: own }, { metadata, at }) => ({
      kind: 'Site',
      site: {
        name: metadata.name,
        labels,
        agents: own.map(({ value, at: place }) => ({ ...value, at: place })),
        at,
      },
    }),
  ),
  ConfigRegistration: kindReader(
    'A further repository with layers of configuration, of the team of a region or a site. Each of its Configs selects only sites that the registration selects.',
    objectName,
    fields({
      config: required(folder, 'The repository with the Configs.'),
      siteSelector: required(record(text), SITE_SELECTOR),
      sites: optional(
        shortList(sitePattern),
        [],
        'Names of the sites that it may declare. `*` stands for any characters.',
      ),
    }),
    (spec, { reading }) => ({
      kind: 'ConfigRegistration',
      ...spec,
      ...repositoryPlace(reading, 'config'),
    }),
  ),
});
