import { readFile } from 'node:fs/promises';

/** One answered request, as the API server's audit log has it (audit.k8s.io/v1, level Metadata). */
export type AuditEvent = {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: { readonly code: number; readonly reason?: string };
  readonly requestReceivedTimestamp: string;
};

/** Every request is one event, written when it has been answered. */
export const AUDIT_POLICY = JSON.stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'Metadata' }],
});

export const readAuditLog = async (path: string): Promise<readonly AuditEvent[]> => {
  const text = await readFile(path, 'utf8').catch(() => '');
  // The last line may still be on its way.
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as AuditEvent);
};

/** The events that changed something, or tried to, without those of the cluster's programs and of the harness. */
export const writesOf = (events: readonly AuditEvent[]): readonly AuditEvent[] =>
  events.filter(({ verb, userAgent }) => WRITES.has(verb) && !OWN_AGENTS.test(userAgent ?? ''));

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
const OWN_AGENTS = /^(kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kwok|test-harness)\//;
