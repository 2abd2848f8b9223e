import { has, implies, is, keeping } from '../../model/yaml/field-rules.ts';
import { ADOPTS } from '../../model/adopts.ts';
import {
  count,
  fields,
  flag,
  list,
  name,
  oneOf,
  optional,
  required,
  shortList,
  text,
  textLike,
} from '../../model/yaml/shape.ts';
import { objectRule } from './object-rule-fields.ts';
import { window } from './window-shape.ts';

const platformName = textLike(
  /^[a-z0-9]+\/[a-z0-9]+(?:\/[a-z0-9.]+)?$/,
  'is not a platform like linux/amd64',
);
/** The spec of a ClusterType. */
export const clusterTypeFields = keeping(
  fields({
    target: optional(
      oneOf('kubernetes', 'host'),
      'kubernetes',
      'Target to which the agent applies packages: a Kubernetes API, or a Debian host.',
    ),
    reconciler: optional(
      text,
      'fleet',
      'Template that delivers the manifests. `fleet` is our own agent; `flux`, `argocd` and others are built in.',
    ),
    reconcilerVersion: optional(
      textLike(/^\d+(?:\.\d+){0,2}$/, 'is not a version', 'Write it like "3.1" or "3.1.9", in quotes'),
      undefined,
      'Version of that program on the clusters. `validate` advises where the Template is for others.',
    ),
    namespaceService: optional(
      text,
      undefined,
      'Template for what every assignment gets from the platform. Default: `namespace` on Kubernetes, `none` on hosts.',
    ),
    configType: optional(
      text,
      undefined,
      'Template that writes the platform configuration. Default: `configmap` on Kubernetes, `env-file` on hosts.',
    ),
    platforms: optional(
      list(platformName),
      [],
      'OCI platforms that every image is carried for. Without any, the whole index travels.',
    ),
    offline: optional(
      flag,
      false,
      'Sites have no network: images travel with the release, and `imagePullPolicy: Always` is refused.',
    ),
    adopt: optional(
      oneOf(...ADOPTS),
      undefined,
      'Which objects that exist on a cluster without an owner of the fleet its packages may take over, unless a Workspace says it. Default: as each agent is configured.',
    ),
    objectRules: optional(
      shortList(objectRule, 64),
      undefined,
      'Rules for objects on its clusters, by kind, name and namespace. Of several for one object, the first that says something counts; an annotation of the object comes before them.',
    ),
    debianBase: optional(
      name,
      undefined,
      'DebianBase of its hosts. Required where packages name Debian packages without an address.',
    ),
    requirements: optional(
      fields({
        diskBytes: optional(
          count,
          undefined,
          'Free bytes on the disk of an agent before its first release, without images, which are counted where they are stored. Default: twice the size of packages and files.',
        ),
        kubernetes: optional(
          text,
          undefined,
          'Kubernetes version range. Helm renders for its first version.',
        ),
        agent: optional(text, undefined, 'Version range of fleet-agent.'),
      }),
      {},
      'Requirements on a cluster or host before the agent applies a bundle.',
    ),
    reboot: optional(
      fields({
        windows: required(
          shortList(window, 64, 1),
          'Times in which a reboot may begin, each `<cron> for <duration>`, in the time zone of the host. The windows in the configuration of an agent limit them further.',
        ),
      }),
      undefined,
      'Lets the agent reboot a host that needs it. Only for hosts; without it a person reboots.',
    ),
  }),
  [
    implies(has('reboot'), is('target', 'host')),
    ({ target }, path) => [
      `${path}.reboot is for hosts, and target is ${target}`,
      'The agent does not reboot nodes of a cluster: leave them to kured, which drains them first',
    ],
    'reboot',
  ],
  [
    implies(has('objectRules'), is('target', 'kubernetes')),
    ({ target }, path) => `${path}.objectRules are for Kubernetes, and target is ${target}`,
    'objectRules',
  ],
);
