import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NO_CONTACT } from '../../../agent/store/contact.ts';
import type { Note } from '../../../agent/observe/note.ts';
import { type Cable, type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { askLines } from '../../harness/run/answered-lines.ts';
import { KEPT_AGENT_BIND, keptAgent } from '../../harness/hosts/kept-agent.ts';
import { agentOnHost } from '../../harness/run/program-file.ts';
import { type Outcome, succeed } from '../../harness/run/run-command.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

/** A booted host with a cable to the office, a stick, and the agent as the service that the product ships. */
export type OnlineSite = AsyncDisposable & {
  readonly host: FactoryHost;
  readonly cable: Cable;
  readonly shell: (script: string, input?: string) => Promise<Outcome>;
  /** One command after the other, in one process. */
  readonly agent: (...words: readonly string[]) => Promise<Outcome>;
  /** The command as a process of its own. */
  readonly startAgent: (...words: readonly string[]) => Promise<Outcome>;
  /** A file of the host; '' where there is none. Looked at from outside: the host does not notice. */
  readonly read: (path: string) => Promise<string>;
  /** What its status is made of, read beside it: cheaper than the command. */
  readonly peek: () => Promise<Peek>;
};

export type Peek = Note & {
  /** How many wait in the outbox, and the first of them. */
  readonly events: number;
  readonly from: number | null;
  /** The operation that is open, with its phase. */
  readonly unfinished: string | null;
  /** Packages that are not yet what they shall be. */
  readonly wanting: number;
};

export type OnlineSiteOptions = {
  /** parts.factoryBase */
  readonly base: string;
  /** Folder of this machine that is the stick at /media/stick. */
  readonly stick: string;
  /** parts.faketime, at /opt/faketime.so. */
  readonly faketime: string;
  /** Bytes of the file system that the agent's state lies on. */
  readonly stateBytes: number;
};

export const startOnlineSite = async (name: string, options: OnlineSiteOptions): Promise<OnlineSite> => {
  const { base, stick, faketime, stateBytes } = options;
  const program = agentOnHost();
  const host = await startFactoryHost(name, {
    base,
    network: 'machine',
    binds: [
      program.bind,
      KEPT_AGENT_BIND,
      { from: stick, to: '/media/stick' },
      { from: faketime, to: '/opt/faketime.so', readOnly: true },
    ],
  });
  const { cable } = host;
  if (!cable) throw new Error('the host has no cable');
  const shell = (script: string, input?: string): Promise<Outcome> =>
    host.look(['/bin/sh', '-c', script], input === undefined ? {} : { input });
  const startAgent = (...words: readonly string[]): Promise<Outcome> =>
    host.exec(['/usr/bin/fleet-agent', ...words]);
  const unit = await readFile(join(REPOSITORY, 'deploy/systemd/fleet-agent.service'), 'utf8');
  succeed(await shell('cat > /etc/systemd/system/fleet-agent.service', unit));
  succeed(
    await shell(
      `printf '#!/bin/sh\\nexec /usr/local/bin/node ${program.file} "$@"\\n' > /usr/bin/fleet-agent
       chmod 755 /usr/bin/fleet-agent
       mkdir -p -m 700 /var/lib/fleet-agent /etc/fleet-agent
       mount -t tmpfs -o size=${stateBytes},mode=700 tmpfs /var/lib/fleet-agent`,
    ),
  );
  const ask = askLines<null, Omit<Peek, keyof Note> & { readonly note: Partial<Note> }>(() =>
    host.open(['/usr/bin/python3', '-I', '-S', '-c', PEEK]),
  );
  return {
    host,
    cable,
    shell,
    agent: keptAgent(host),
    startAgent,
    read: (path) => readFile(join(host.rootDir, path), 'utf8').catch(() => ''),
    peek: async () => {
      const asked = await ask(null);
      if ('noAnswer' in asked)
        throw new Error(`peek ended with ${asked.noAnswer.code}: ${asked.noAnswer.stderr}`);
      const { note, ...seen } = asked.answer;
      return { registry: NO_CONTACT, hub: NO_CONTACT, ...note, ...seen };
    },
    [Symbol.asyncDispose]: () => host.remove(),
  };
};

/** SQLite reads no file by way of /proc, so one process inside answers. */
const PEEK = `
import contextlib, json, sqlite3, sys
def peek(db):
    events, first = db.execute('select count(*), min(seq) from outbox').fetchone()
    row = db.execute("select kind || ' ' || assignment || ', ' || phase from operation where ended_at is null").fetchone()
    try:
        with open('/var/lib/fleet-agent/daemon.json') as file:
            note = json.load(file)
    except (FileNotFoundError, ValueError):
        note = {}
    wanting = db.execute("select count(*) from package where status != 'healthy'").fetchone()[0]
    return {'events': events, 'from': first, 'unfinished': row and row[0], 'wanting': wanting, 'note': note}
for line in sys.stdin:
    with contextlib.closing(sqlite3.connect('/var/lib/fleet-agent/state.db', timeout=5)) as db:
        print(json.dumps([json.loads(line)[0], peek(db)]), flush=True)
`;
