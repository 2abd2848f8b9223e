import { describe, expect, it } from 'vitest';
import { answerQuestions, readGiven } from '../../../scheduler/setup/answer-questions.ts';
import { TOPIC_NAMES } from '../../../scheduler/setup/question.ts';
import { TOPICS } from '../../../scheduler/setup/topics.ts';

/** A person who gives these answers in order. */
const personWith = (...answers: readonly string[]) => {
  const said: string[] = [];
  const left = [...answers];
  return {
    said,
    person: {
      say: (line: string) => void said.push(line),
      ask: async (question: string) => {
        said.push(question);
        const next = left.shift();
        if (next === undefined) throw new Error(`nothing is left to answer ${question}`);
        return next;
      },
    },
  };
};

const given = (...texts: readonly string[]) => readGiven(texts, Object.values(TOPICS));

describe('the questions of setup', () => {
  it.each(TOPIC_NAMES)('have examples that fit the configuration: %s', async (name) => {
    const topic = TOPICS[name];
    const all = given(...topic.questions.map((question) => `${question.name}=${question.example}`));
    const settings = await answerQuestions(topic, {}, { given: all, person: undefined });
    expect(topic.isSet(settings)).toBe(true);
    // Asked again, the present values are the answers.
    expect(await answerQuestions(topic, settings, { given: new Map(), person: undefined })).toEqual(settings);
  });

  it('are asked again until an answer fits, with the mistake of the last one', async () => {
    const { person, said } = personWith(
      'hub.example',
      'https://hub.example:8443',
      'login.example',
      'https://login.example',
      '',
      '-',
      '',
      'mara@example.com',
    );
    const settings = await answerQuestions(TOPICS['sign-in'], {}, { given: new Map(), person });
    expect(settings).toEqual({
      signIn: {
        publicUrl: 'https://hub.example:8443',
        issuer: 'https://login.example',
        clientId: 'fleet-ferry',
      },
      roles: [{ role: 'admin', people: ['mara@example.com'] }],
    });
    expect(said.filter((line) => line.includes('It is written like'))).toEqual([
      expect.stringMatching(/^signIn\.publicUrl is not an address with https:\/\//),
      expect.stringMatching(/^signIn\.issuer is not an address with https:\/\//),
      expect.stringMatching(/^this has to have an answer/),
    ]);
  });

  it('take the address of the hub from its name and port, and keep the admin that there is', async () => {
    const before = {
      hostnames: ['hub.example'],
      listen: '0.0.0.0:9443',
      roles: [{ role: 'admin' as const, groups: ['a'] }],
    };
    const { person } = personWith('', 'https://login.example', '', '', '');
    const { signIn, roles } = await answerQuestions(TOPICS['sign-in'], before, { given: new Map(), person });
    expect(signIn).toMatchObject({ publicUrl: 'https://hub.example:9443', clientSecretFile: 'oidc-secret' });
    expect(roles).toEqual(before.roles);
  });

  it('do not ask for admins that one answer cannot describe', async () => {
    const roles = [
      { role: 'admin' as const, groups: ['a'] },
      { role: 'admin' as const, people: ['mara@example.com'] },
    ];
    const { person } = personWith('https://hub.example', 'https://login.example', '', '');
    const settings = await answerQuestions(TOPICS['sign-in'], { roles }, { given: new Map(), person });
    expect(settings.roles).toEqual(roles);
  });

  it('keep the other receivers of alarms, and the other settings of theirs', async () => {
    const desk = { name: 'mail', webhook: { url: 'https://desk.example', secretFile: 'secret' } };
    const old = {
      name: 'old',
      severity: 'critical' as const,
      email: { server: 'smtps://a.example', from: 'a@a.example', to: ['b@a.example'] },
    };
    const answers = given('mail.server=smtps://new.example', 'mail.userName=-');
    const options = { given: answers, person: undefined };
    const changed = await answerQuestions(TOPICS.mail, { alarms: { receivers: [desk, old] } }, options);
    expect(changed.alarms?.receivers).toEqual([
      desk,
      { ...old, email: { ...old.email, server: 'smtps://new.example' } },
    ]);
    // A new one does not take the name of another receiver.
    const all = given('mail.server=smtps://a', 'mail.from=a@b.c', 'mail.to=a@b.c d@e.f', 'mail.userName=-');
    const added = await answerQuestions(
      TOPICS.mail,
      { alarms: { receivers: [desk] } },
      { given: all, person: undefined },
    );
    expect(added.alarms?.receivers[1]).toEqual({
      name: 'mail-2',
      email: { server: 'smtps://a', from: 'a@b.c', to: ['a@b.c', 'd@e.f'] },
    });
  });

  it('removes the login with its name, and commit statuses at this forge alone', async () => {
    const email = { server: 'smtps://a.example', from: 'a@a.example', to: ['b@a.example'] };
    const receivers = [{ name: 'mail', email: { ...email, userName: 'fleet', passwordFile: 'password' } }];
    const options = (...texts: readonly string[]) => ({ given: given(...texts), person: undefined });
    const mail = await answerQuestions(TOPICS.mail, { alarms: { receivers } }, options('mail.userName=-'));
    expect(mail.alarms?.receivers).toEqual([{ name: 'mail', email }]);
    const elsewhere = { host: 'other.example', tokenFile: 'other' };
    const here = { host: 'git.example', tokenFile: 'here' };
    const before = {
      platform: 'https://git.example/a/platform',
      commitStatuses: { forges: [here, elsewhere] },
    };
    const forge = await answerQuestions(TOPICS.forge, before, options('forge.tokenFile=-'));
    expect(forge.commitStatuses).toEqual({ forges: [elsewhere] });
  });

  it('keeps the kind of a forge, and the order of the forges', async () => {
    const gitea = { host: 'git.example', forge: 'gitea=https://git.example/api/v1', tokenFile: 'here' };
    const commitStatuses = { targetUrl: 'https://a', forges: [gitea, { host: 'b.example', tokenFile: 'b' }] };
    const before = { platform: 'https://git.example/a/platform', webhookSecretFile: 'w', commitStatuses };
    const kept = { given: new Map(), person: undefined };
    expect(await answerQuestions(TOPICS.forge, before, kept)).toEqual(before);
  });

  it.each([
    ['signIn.isuer=x', 'Did you mean signIn.issuer?'],
    ['signIn.issuer', 'Write <name>=<answer>'],
    ['=x', 'Write <name>=<answer>'],
  ])('are named by --set: %s is refused', (text, hint) => {
    expect(() => given(text)).toThrow(
      expect.objectContaining({ code: 'USAGE', hint: expect.stringContaining(hint) }),
    );
  });

  it('without a person a missing or wrong answer is an error that names it', async () => {
    const options = (...texts: readonly string[]) => ({ given: given(...texts), person: undefined });
    await expect(answerQuestions(TOPICS.webhook, {}, options())).rejects.toMatchObject({
      code: 'USAGE',
      message: 'there is no answer for webhook.url',
    });
    await expect(answerQuestions(TOPICS.webhook, {}, options('webhook.url=desk'))).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(/^--set webhook\.url: alarms\.receivers\.0\.webhook\.url is not/),
    });
  });
});
