import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnDebian } from '../../harness/hosts/describe-on-debians.ts';
import { LONG } from '../../harness/run/long.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { build, KEY, type PlaybooksHost, setup, startPlaybooksHost, tasks } from './playbooks-host/world.ts';

/** A task for each collection, a module or a filter of it, that changes something on a fresh host; in their order. */
const TASKS = [
  [
    'ansible.posix',
    '    - name: login\n      ansible.posix.authorized_key: {user: root, key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFbf1EiQsTFPTt+8Nf1xvkC1nzDAKfrMKWRfJdzRR4Pd"}\n',
  ],
  [
    'ansible.utils',
    `    - name: paths\n      copy: {dest: /etc/press.paths, content: "{{ {'line': {'speed': 3}} | ansible.utils.to_paths }}"}\n`,
  ],
  [
    'community.crypto',
    '    - name: key\n      community.crypto.openssl_privatekey: {path: /etc/press.key, type: Ed25519}\n',
  ],
  [
    'community.dns',
    `    - name: domain\n      copy: {dest: /etc/press.domain, content: "{{ 'press.plant.co.uk' | community.dns.get_registrable_domain }}"}\n`,
  ],
  [
    'community.general',
    '    - name: ini\n      community.general.ini_file: {path: /etc/press.ini, section: press, option: line, value: "7", mode: "0644"}\n',
  ],
] as const;

/** One with a module and one with a filter; the large ones are part of the long run. */
const TRIED = LONG ? TASKS : TASKS.slice(0, 2);

describeOnDebian(12)(
  ['ansible', 'ansibleCollections'],
  'published collections and a role on a booted host without network',
  ({ base, debian }, { ansibleCollections }) => {
    let world: PlaybooksHost;
    beforeAll(async () => {
      world = await startPlaybooksHost(`collections-${debian}`, base);
    });
    afterAll(() => world?.host.remove());

    it('change in a run what the check predicts, and nothing in a second run', async () => {
      const tarballs = await Promise.all(
        TRIED.map(
          async ([name]) =>
            [`${name}.tar.gz`, await readFile(join(ansibleCollections, `${name}.tar.gz`))] as const,
        ),
      );
      await using folder = await temporaryDirectory('role');
      await mkdir(join(folder.path, 'clock-role/tasks'), { recursive: true });
      await writeFile(
        join(folder.path, 'clock-role/tasks/main.yml'),
        '- copy: {dest: /etc/of-role, content: role}\n',
      );
      await runOrFail(['tar', '-czf', 'role.tar.gz', 'clock-role'], { cwd: folder.path });
      const sources = TRIED.map(([name]) => `{source: ${name}.tar.gz}`).join(', ');
      const built = await build(
        `${setup()}  roles: [{name: factory.clock, source: role.tar.gz}]\n  collections: [${sources}]\n`,
        {
          ...Object.fromEntries(tarballs),
          'role.tar.gz': await readFile(join(folder.path, 'role.tar.gz')),
          'ansible/site.yml': `${tasks(TRIED.map(([, task]) => task).join(''))}  roles: [factory.clock]\n`,
        },
      );
      if (LONG)
        expect(await world.plan(built)).toEqual([
          expect.stringMatching(
            /^created .*: new; its check would change task "factory.clock : copy" \(.*\), task "login" \(site\.yml:4\), task "paths" \(site\.yml:6\) and 3 more$/,
          ),
        ]);
      expect(await world.apply(built)).toEqual([
        `created ${KEY}: ${TRIED.length + 1} changed; a second run would change nothing`,
      ]);
      expect(await world.sh('cat /etc/of-role')).toBe('role');
      expect(await world.sh('cat /etc/press.paths; cut -c 1-11 /root/.ssh/authorized_keys')).toBe(
        '{"line.speed": 3}ssh-ed25519',
      );
      if (!LONG) return;
      expect(await world.sh('cat /etc/press.ini /etc/press.domain; head -n 1 /etc/press.key')).toBe(
        '[press]\nline = 7\nplant.co.uk-----BEGIN PRIVATE KEY-----',
      );
      // Ansible alone, with what the package placed.
      const placed = KEY.slice('playbook:'.length);
      const recap = await world.sh(`cd /var/lib/fleet-ferry/ansible/clock-host
        mkdir -p /root/roles/factory.clock
        for tarball in $(find . -name '*.tar.gz'); do
          if ! manifest=$(tar -xOf $tarball MANIFEST.json 2> /dev/null); then
            tar -xf $tarball -C /root/roles/factory.clock --strip-components=1
            continue
          fi
          name=$(echo "$manifest" | python3 -c 'import json, sys; i = json.load(sys.stdin)["collection_info"]; print(i["namespace"], i["name"], sep="/")')
          mkdir -p /root/collections/ansible_collections/$name
          tar -xf $tarball -C /root/collections/ansible_collections/$name
        done
        ANSIBLE_COLLECTIONS_PATH=/root/collections ANSIBLE_ROLES_PATH=/root/roles \
          ansible-playbook -c local -i localhost, ${placed}/site.yml 2>&1 | tail -n 12`);
      expect(recap).toMatch(new RegExp(`ok=${TRIED.length + 1} +changed=0 +unreachable=0 +failed=0`));
    });
  },
);
