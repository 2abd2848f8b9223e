import { listOf, textOf } from '../live-field.ts';
import { current, type HealthContext, inProgress, type Verdict } from '../verdict.ts';

export type ServiceName = { readonly namespace: string; readonly name: string };

/** Services whose absence makes the API server refuse requests: those of webhooks that do not ignore failures. */
export const servicesNeeded = (configuration: unknown): readonly (ServiceName & { readonly by: string })[] =>
  listOf(configuration, 'webhooks').flatMap((webhook) => {
    const namespace = textOf(webhook, 'clientConfig', 'service', 'namespace');
    const name = textOf(webhook, 'clientConfig', 'service', 'name');
    const isIgnored = textOf(webhook, 'failurePolicy') === 'Ignore';
    if (isIgnored || namespace === undefined || name === undefined) return [];
    return [{ namespace, name, by: textOf(webhook, 'name') ?? '' }];
  });

/** Whether the Services behind webhooks of admission answer. Without knowledge of endpoints they are taken to. */
export const judgeWebhooks = (
  configuration: unknown,
  { isServed }: Pick<HealthContext, 'isServed'>,
): Verdict => {
  const lacking = servicesNeeded(configuration).find((service) => isServed?.(service) === false);
  if (!lacking) return current('it is there');
  const { by, namespace, name } = lacking;
  return inProgress(`Service ${namespace}/${name} of its webhook ${by} has no ready endpoint`);
};
