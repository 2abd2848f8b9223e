import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { openDebSolver, type SolvedDeb } from '../../../scheduler/assemble/content/debs/solve-debs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { mirrorSources, SERVICES } from '../../harness/parts/debian-mirror.ts';
import type { TestPackage } from '../../harness/fleets/signed-medium.ts';
import { nothing, type SiteHost, startSiteHost } from './debs-host/site-host.ts';
import { packageOfDebs } from './debs-host/test-deb.ts';

/** In a usual run one small one: the database alone is 60 MB. */
const TRIED: readonly string[] = LONG ? SERVICES : ['nginx'];

/** Percent of the lines that dpkg logs in an operation, after which the long run cuts the power. */
const SHARES = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/** What dpkg logs for a package that it unpacks and configures. */
const LINES_OF_UPGRADE = 9;

/** The long run installs 60 MB some forty times. */
const TIMEOUT_MS = LONG ? 7_200_000 : 300_000;

const UNITS: Readonly<Record<string, string>> = {
  mosquitto: 'mosquitto.service',
  nginx: 'nginx.service',
  'openssh-server': 'ssh.service',
  'postgresql-15': 'postgresql.service',
};

/** A setting of each service, whose value is that of the release. chrony sets no clock in the host's namespaces, so it does not run. */
const settings = (release: number): Readonly<Record<string, readonly [string, string]>> => ({
  chrony: ['/etc/chrony/conf.d/press.conf', `maxupdateskew ${release}00\n`],
  mosquitto: ['/etc/mosquitto/conf.d/press.conf', `max_queued_messages ${release}00\n`],
  nginx: ['/etc/nginx/conf.d/press.conf', `keepalive_requests ${release}00;\n`],
  'openssh-server': ['/etc/ssh/sshd_config.d/press.conf', `MaxSessions ${release}0\n`],
  'postgresql-15': ['/etc/postgresql/15/main/conf.d/press.conf', `work_mem = ${release}MB\n`],
});

describeWith(['factoryBase', 'debianMirror'], 'services of Debian', ({ factoryBase, debianMirror }) => {
  let site: SiteHost;
  const solutions = new Map<number, readonly SolvedDeb[]>();
  const packages = new Map<number, TestPackage>();

  /** As `images lock` does; release 2 has the security updates, too. */
  const solve = async (release: number): Promise<readonly SolvedDeb[]> => {
    await using solver = openDebSolver(
      {
        name: 'factory-12',
        architecture: execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim(),
        sources: mirrorSources(debianMirror, release > 1),
        status: await readFile(join(factoryBase, 'var/lib/dpkg/status'), 'utf8'),
        recommends: false,
        at: { file: 'base/factory-12.yaml', line: 1, column: 1 },
      },
      process.env,
    );
    return await solver(TRIED, new AbortController().signal);
  };

  const packed = async (release: number): Promise<TestPackage> => {
    const debs = await Promise.all(
      (solutions.get(release) ?? []).map(async ({ url, digest }) => {
        const bytes = await readFile(fileURLToPath(url));
        expect(digestOf(bytes)).toBe(digest);
        return bytes;
      }),
    );
    const named = new Set<string>(TRIED);
    const made = await packageOfDebs('services', debs, (name) =>
      named.has(name) ? {} : { asDependency: true },
    );
    const files = TRIED.flatMap((name) => [settings(release)[name] ?? []]);
    return {
      ...made,
      files: { ...made.files, ...(Object.fromEntries(files) as Record<string, string>) },
      units: TRIED.flatMap((name) => {
        const unit = UNITS[name];
        if (unit === undefined) return [];
        return [{ name: unit, enabled: true, active: true, restartOn: [settings(release)[name]?.[0] ?? ''] }];
      }),
    };
  };

  /** Every Debian package of the release at its version, every service running with the setting of the release. */
  const expectRelease = async (release: number): Promise<void> => {
    const wanted = packages.get(release)?.install?.packages ?? [];
    const found = await site.dpkg(...wanted.map(({ name }) => name));
    // Libraries with their architecture.
    expect(
      found
        .replaceAll(/:\w+(?= )/g, '')
        .split(', ')
        .toSorted(),
    ).toEqual(wanted.map(({ name, version }) => `ii ${name} ${version}`).toSorted());
    expect(await site.sh('dpkg --audit')).toBe('');
    for (const name of TRIED) {
      const [path = '', text = ''] = settings(release)[name] ?? [];
      expect(await site.sh(`cat ${path}`)).toBe(text.trim());
      if (UNITS[name]) expect(await site.sh(`systemctl is-active ${UNITS[name]}`)).toBe('active');
    }
  };
  /** Data of the database that every later version must still have. */
  const writeData = async (): Promise<void> => {
    if (LONG)
      await site.sh(
        `${query('create table if not exists press (text text)')}; ${query("truncate press; insert into press values ('kept')")}`,
      );
  };
  const expectData = async (): Promise<void> => {
    if (LONG) expect(await site.sh(query('select text from press'))).toBe('kept');
  };
  /** How many Debian packages have another version in release 2. */
  const upgraded = (): number => {
    const [before = [], after = []] = [1, 2].map((release) =>
      (packages.get(release)?.install?.packages ?? []).map(({ name, version }) => `${name} ${version}`),
    );
    return after.filter((one) => !before.includes(one)).length;
  };
  const logged = async (): Promise<number> =>
    Number(await site.sh('touch /var/log/dpkg.log; wc -l < /var/log/dpkg.log'));
  /** Imports the release, cuts the power once dpkg's log has this many lines, and lets the agent continue. */
  const cutPower = async (to: TestPackage, atLine: number): Promise<void> => {
    const words = await site.release(to);
    await site.sh(
      `systemd-run --quiet --unit=import-${atLine} --setenv=FLEET_NOW=2026-11-21T08:00:00Z /usr/bin/fleet-agent ${words}
      until systemctl list-units --no-legend --state=activating 'fleet-agent-runner@*' | grep -q .; do sleep 0.01; done
      until test "$(wc -l < /var/log/dpkg.log)" -ge ${atLine}; do sleep 0.01; done`,
    );
    await site.host.crash();
    await site.host.start();
    const resumed = await site.agent('run --once');
    expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
  };
  const query = (sql: string): string => `cd /; runuser -u postgres -- psql -At -c "${sql}"`;

  beforeAll(async () => {
    for (const release of [1, 2]) {
      solutions.set(release, await solve(release));
      packages.set(release, await packed(release));
    }
    site = await startSiteHost('debian-services', factoryBase, [
      { from: debianMirror, to: '/mirror', readOnly: true },
    ]);
  });
  afterAll(() => site?.[Symbol.asyncDispose]());

  it('are resolved at build time to the versions that apt of the host resolves', async () => {
    for (const release of LONG ? [1, 2] : [2]) {
      const sources = mirrorSources('/mirror', release > 1);
      const said = await site.sh(`mkdir -p /tmp/sources
        cat > /tmp/sources/mirror.sources << 'END'
${sources}
END
        APT='apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=/tmp/sources'
        $APT update > /dev/null
        $APT --simulate --no-install-recommends install ${TRIED.join(' ')}`);
      const answer = [...said.matchAll(/^Inst (\S+) (?:\[\S+\] )?\((\S+) /gm)].map(
        ([, name, version]) => `${name} ${version}`,
      );
      const closure = packages.get(release)?.install?.packages ?? [];
      expect(closure.map(({ name, version }) => `${name} ${version}`)).toEqual(answer.toSorted());
    }
  });

  it(
    'are installed, upgraded and reconfigured over a power cut, and rolled back',
    async () => {
      const [first = nothing, second = nothing] = [packages.get(1), packages.get(2)];
      await site.applied(first);
      await writeData();
      await expectRelease(1);
      await cutPower(second, (await logged()) + Math.round(LINES_OF_UPGRADE / 2) * upgraded());
      await expectRelease(2);
      const back = await site.agent('rollback services --reason test');
      expect(back.code, back.stdout + back.stderr).toBe(0);
      await expectRelease(1);
      await expectData();
    },
    TIMEOUT_MS,
  );

  describe.each(
    // From release to release; 0 is a host without the services.
    LONG
      ? [
          { title: 'an installation', from: 0, to: 1 },
          { title: 'an upgrade', from: 1, to: 2 },
          { title: 'the way back', from: 2, to: 1 },
        ]
      : [],
  )('after a power cut in $title', (one) => {
    const [from, to] = [() => packages.get(one.from) ?? nothing, () => packages.get(one.to) ?? nothing];
    /** What dpkg logs in the whole operation. */
    let lines = 0;

    beforeAll(async () => {
      await site.applied(from());
      const before = await logged();
      await site.applied(to());
      lines = (await logged()) - before;
      expect(lines).toBeGreaterThan(0);
    }, TIMEOUT_MS);

    it.each(SHARES)(
      'after %s per cent of the log lines of dpkg they reach the release',
      async (share) => {
        await site.applied(from());
        if (one.from > 0) await writeData();
        await cutPower(to(), (await logged()) + Math.round((share / 100) * lines));
        await expectRelease(one.to);
        if (one.from > 0) await expectData();
      },
      TIMEOUT_MS,
    );
  });
});
