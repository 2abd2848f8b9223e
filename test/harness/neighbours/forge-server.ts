import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { azureRoutes } from './forge-azure.ts';
import { gitLabRoutes } from './forge-gitlab.ts';
import { runCommand } from '../run/run-command.ts';

export type ForgeKind = 'github' | 'gitea' | 'gitlab' | 'azure';

type Label = { readonly id: number; readonly name: string; readonly color: string };

/** A pull request as the stand-in keeps it; tests look at these. */
export type KeptPullRequest = {
  readonly number: number;
  readonly head: string;
  readonly base: string;
  title: string;
  body: string;
  state: 'open' | 'closed';
  merged: boolean;
  labels: Label[];
};

/** A commit status as it was posted; `sha` is from the path. */
export type KeptStatus = {
  readonly sha: string;
  readonly state: string;
  readonly context: string;
} & Readonly<Record<string, unknown>>;
/** Status and JSON body. */
export type ForgeAnswer = readonly [status: number, body: unknown];

export type Route = (method: string, url: URL, body: Record<string, unknown>) => Promise<ForgeAnswer>;

/** What the dialects of the API share. */
export type ForgeState = {
  readonly pulls: KeptPullRequest[];
  readonly statuses: KeptStatus[];
  readonly hasCommit: (sha: string) => Promise<boolean>;
  readonly hasBranch: (branch: string) => Promise<boolean>;
  readonly labelNamed: (name: string) => Label;
  readonly add: (pull: Pick<KeptPullRequest, 'head' | 'base' | 'title' | 'body'>) => KeptPullRequest;
};

export type ForgeServer = AsyncDisposable & {
  /** Root of the API: 'http://127.0.0.1:PORT', with '/api/v1' for gitea, '/api/v4' for gitlab and '/org' for azure. */
  readonly api: string;
  readonly pulls: KeptPullRequest[];
  readonly statuses: KeptStatus[];
  /** 'METHOD /path', without those that only read. */
  readonly writes: string[];
  readonly requests: string[];
  /** Every value of the authorization header that was seen. */
  readonly authorizations: Set<string>;
  /** The next requests get this answer instead. */
  failNext: { readonly status: number; readonly message: string } | undefined;
};

const ROOTS = { github: '', gitea: '/api/v1', gitlab: '/api/v4', azure: '/org' } as const;

/**
 * The few REST calls of a forge that concern pull requests, labels and statuses, for one bare repository 'org/gitops' (Azure
 * DevOps: 'gitops' of the project 'org') that really is there: a head that is not a branch is refused, as all do. Shapes as in
 * their API references.
 */
export const startForge = async (
  kind: ForgeKind,
  repository: string,
  name = 'org/gitops',
): Promise<ForgeServer> => {
  const labels: Label[] = [];
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  const root = ROOTS[kind];
  const repo = `${root}/repos/${name}`;

  const hasBranch = async (branch: string): Promise<boolean> => {
    const found = await runCommand([
      'git',
      '--git-dir',
      repository,
      'show-ref',
      '--verify',
      `refs/heads/${branch}`,
    ]);
    return found.code === 0;
  };

  /** A commit that is there stays. */
  const commits = new Set<string>();
  const hasCommit = async (sha: string): Promise<boolean> => {
    if (commits.has(sha)) return true;
    const found = await runCommand(['git', '--git-dir', repository, 'cat-file', '-e', `${sha}^{commit}`]);
    if (found.code === 0) commits.add(sha);
    return found.code === 0;
  };

  const show = (pull: KeptPullRequest) => ({
    number: pull.number,
    title: pull.title,
    body: pull.body,
    state: pull.state,
    html_url: `https://forge.example/org/gitops/pulls/${pull.number}`,
    labels: pull.labels,
    ...(kind === 'github'
      ? {
          merged_at: pull.merged ? '2026-01-01T00:00:00Z' : null,
          head: { ref: pull.head, label: `org:${pull.head}` },
          base: { ref: pull.base, label: `org:${pull.base}` },
        }
      : {
          merged: pull.merged,
          head: { ref: pull.head, label: pull.head },
          base: { ref: pull.base, label: pull.base },
        }),
  });

  const labelNamed = (name: string): Label => {
    const known = labels.find((label) => label.name === name);
    if (known) return known;
    const made = { id: labels.length + 1, name, color: '0e8a16' };
    labels.push(made);
    return made;
  };

  const add: ForgeState['add'] = (words) => {
    const pull: KeptPullRequest = {
      ...words,
      number: running.pulls.length + 1,
      state: 'open',
      merged: false,
      labels: [],
    };
    running.pulls.push(pull);
    return pull;
  };

  const list = (query: URLSearchParams): readonly KeptPullRequest[] => {
    const state = query.get('state') ?? 'open';
    const newest = running.pulls.toReversed().filter((pull) => state === 'all' || pull.state === state);
    if (kind === 'gitea') return page(newest, query, 'limit');
    const [head, base] = [query.get('head'), query.get('base')];
    const fitting = newest.filter(
      (pull) => (!head || `org:${pull.head}` === head) && (!base || pull.base === base),
    );
    return page(fitting, query, 'per_page');
  };

  const open = async (body: Record<string, string>): Promise<readonly [number, unknown]> => {
    const { head = '', base = '', title = '', body: text = '' } = body;
    const there = running.pulls.some(
      (pull) => pull.state === 'open' && pull.head === head && pull.base === base,
    );
    if (there && kind === 'gitea')
      return [
        409,
        { message: `pull request already exists for these targets [id: 1, head_branch: ${head}]` },
      ];
    if (there)
      return [
        422,
        {
          message: 'Validation Failed',
          errors: [
            {
              resource: 'PullRequest',
              code: 'custom',
              message: `A pull request already exists for org:${head}.`,
            },
          ],
        },
      ];
    if (!(await hasBranch(head)) || !(await hasBranch(base))) {
      return kind === 'gitea'
        ? [404, { message: 'The target could not be found.' }]
        : [
            422,
            {
              message: 'Validation Failed',
              errors: [{ resource: 'PullRequest', field: 'head', code: 'invalid' }],
            },
          ];
    }
    return [201, show(add({ head, base, title, body: text }))];
  };

  const addLabels = (number: number, wanted: readonly (string | number)[]): readonly [number, unknown] => {
    const pull = running.pulls[number - 1];
    if (!pull) return [404, { message: 'Not Found' }];
    for (const one of wanted) {
      const label = kind === 'github' ? labelNamed(String(one)) : labels.find(({ id }) => id === one);
      if (!label) return [422, { message: `there is no label ${one}` }];
      if (!pull.labels.includes(label)) pull.labels = [...pull.labels, label];
    }
    return [200, pull.labels];
  };

  /** GitHub and Gitea refuse a commit that the repository does not have, each with its own code. */
  const setStatus = async (
    sha: string,
    body: Record<string, unknown>,
  ): Promise<readonly [number, unknown]> => {
    if (!(await hasCommit(sha)))
      return kind === 'gitea'
        ? [404, { message: `object does not exist [id: ${sha}, rel_path: ]` }]
        : [422, { message: `No commit found for SHA: ${sha}` }];
    const status = { ...body, sha, state: String(body['state']), context: String(body['context']) };
    running.statuses.push(status);
    return [201, status];
  };

  const ownRoute: Route = async (method, { pathname, searchParams }, body) => {
    if (pathname === `${repo}/pulls` && method === 'GET') return [200, list(searchParams).map(show)];
    if (pathname === `${repo}/pulls` && method === 'POST') return await open(body as Record<string, string>);
    if (pathname === `${repo}/labels` && kind === 'gitea' && method === 'GET')
      return [200, page(labels, searchParams, 'limit')];
    if (pathname === `${repo}/labels` && kind === 'gitea' && method === 'POST')
      return [201, labelNamed(String(body['name']))];
    const [, sha] = /\/statuses\/([0-9a-f]{40})$/.exec(pathname) ?? [];
    if (sha && pathname === `${repo}/statuses/${sha}` && method === 'POST') return await setStatus(sha, body);
    const [, what, number] = /^.*\/(pulls|issues)\/(\d+)(?:\/labels)?$/.exec(pathname) ?? [];
    if (what === 'issues' && method === 'POST')
      return addLabels(Number(number), body['labels'] as readonly (string | number)[]);
    const pull = running.pulls[Number(number) - 1];
    if (what === 'pulls' && method === 'PATCH' && pull) {
      Object.assign(pull, body);
      return [kind === 'github' ? 200 : 201, show(pull)];
    }
    return [404, { message: 'Not Found' }];
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const method = request.method ?? 'GET';
    const url = new URL(request.url ?? '/', 'http://forge');
    running.requests.push(`${method} ${url.pathname}`);
    running.authorizations.add(request.headers.authorization ?? '');
    if (method !== 'GET') running.writes.push(`${method} ${url.pathname.slice(root.length)}`);
    const failure = running.failNext;
    running.failNext = undefined;
    const [status, body] = failure
      ? [failure.status, { message: failure.message }]
      : await route(method, url, text === '' ? {} : (JSON.parse(text) as Record<string, unknown>));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const running: ForgeServer = {
    api: `http://127.0.0.1:${port}${root}`,
    pulls: [],
    statuses: [],
    writes: [],
    requests: [],
    authorizations: new Set(),
    failNext: undefined,
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
  const state: ForgeState = { ...running, hasCommit, hasBranch, labelNamed, add };
  const ownOrAzure = kind === 'azure' ? azureRoutes(state) : ownRoute;
  const route = kind === 'gitlab' ? gitLabRoutes(state) : ownOrAzure;
  return running;
};

const page = <T>(all: readonly T[], query: URLSearchParams, size: string): readonly T[] => {
  const count = Number(query.get(size) ?? 30);
  const from = (Number(query.get('page') ?? 1) - 1) * count;
  return all.slice(from, from + count);
};
