import { stat, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { addDays } from '#bundles/time';
import { loadKeyText } from '../../../agent/hub/agent-key.ts';
import { certificateFile, findCertificate, isDueForRenewal } from '../../../agent/hub/certificate.ts';
import { renewCertificate } from '../../../agent/enroll/renew-certificate.ts';
import { openHub } from '../../../agent/hub/hub-client.ts';
import { readOutbox } from '../../../agent/store/outbox/outbox.ts';
import { findIdentity } from '../../../agent/store/identity.ts';
import { readFloors, readRoot } from '../../../agent/store/trust.ts';
import { TODAY } from '../hub-server.ts';
import { createOnlineWorld, type OnlineWorld, PATIENT } from '../online-world.ts';
import { testEdge } from '../world.ts';

const told = ({ state }: OnlineWorld) => readOutbox(state).map(({ line }) => JSON.parse(line).type);

describe('an enrolment at a hub', () => {
  it('receives root, site statement and certificate in one request', async () => {
    await using it = await createOnlineWorld();
    expect(await it.enroll()).toMatchObject({
      fleet: 'halden',
      rootVersion: 1,
      devRoot: false,
      channel: 'prod/factory-host',
      siteVersion: 1,
    });
    expect(it.hub.asked).toEqual(['GET /v1/roots', 'POST /v1/enroll']);
    expect(readFloors(it.state)).toMatchObject({ root: 1, site: 1, release: 0 });
    expect((await stat(certificateFile(it.state.directory))).mode & 0o777).toBe(0o600);
    expect(told(it)).toEqual(['enrolled', 'imported']);
  });

  it('repeated with the same arguments receives the next certificate for the same key', async () => {
    await using it = await createOnlineWorld();
    const { fingerprint } = await it.enroll();
    expect(await it.enroll()).toMatchObject({ fingerprint });
    expect(told(it)).toEqual(['enrolled', 'imported']);
    await expect(it.enroll({ site: 'plant-8' })).rejects.toMatchObject({ code: 'ALREADY_ENROLLED' });
  });

  it('H14: sends no token to a hub whose roots do not lead back to the one given by hand', async () => {
    await using it = await createOnlineWorld();
    await expect(it.enroll({ pinnedRoot: digestOf('other') })).rejects.toMatchObject({
      code: 'ROOT_UNKNOWN',
    });
    await expect(it.enroll({ fleet: 'other' })).rejects.toMatchObject({ code: 'ROOT_FLEET' });
    expect(it.hub.asked).toEqual(['GET /v1/roots', 'GET /v1/roots']);
    expect(findIdentity(it.state)).toBeUndefined();
  });

  it('H14: sends no token to somebody who shows the right roots and the wrong certificate', async () => {
    await using it = await createOnlineWorld({ stranger: true });
    await expect(it.enroll()).rejects.toMatchObject({
      code: 'CERTIFICATE_INVALID',
      message: expect.stringContaining("does not chain to the fleet's authority"),
    });
    expect(it.hub.asked).toEqual(['GET /v1/roots']);
  });

  it('H14: sends no token to another name than the certificate has', async () => {
    await using it = await createOnlineWorld({ host: 'hub.example' });
    await expect(it.enroll()).rejects.toMatchObject({
      code: 'CERTIFICATE_INVALID',
      message: expect.stringContaining('another name'),
    });
    expect(it.hub.asked).toEqual(['GET /v1/roots']);
  });

  it('with a wrong token stores no identity, so that another site or token can be tried', async () => {
    await using it = await createOnlineWorld();
    const wrong = it.enroll({ site: 'plant-8' }, 'wrong');
    await expect(wrong).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
      message: 'the token is unknown',
      hint: 'Ask for another',
    });
    expect(findIdentity(it.state)).toBeUndefined();
    expect(await it.enroll()).toMatchObject({ siteVersion: 1 });
  });

  it('interrupted by an outage continues with the same request', async () => {
    await using it = await createOnlineWorld();
    it.hub.mischief = ({ method }, response) => {
      if (method === 'POST') response.destroy();
      return method === 'POST';
    };
    await expect(it.enroll()).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
    const request = findIdentity(it.state)?.request;
    expect(request).toBeDefined();
    it.hub.mischief = undefined;
    await it.enroll();
    expect(findIdentity(it.state)?.request).toBe(request);
  });

  it.each([
    { name: 'no list of roots', bend: () => ({ roots: 7 }), code: 'HUB_REFUSED' },
    {
      name: 'no certificate',
      bend: (path: string, it: object) => (path === '/v1/enroll' ? {} : it),
      code: 'HUB_REFUSED',
    },
    {
      name: 'no documents',
      bend: (path: string, it: object) => (path === '/v1/enroll' ? { ...it, documents: 'none' } : it),
      code: 'HUB_REFUSED',
    },
    {
      name: "no certificate but the authority's own",
      bend: (path: string, it: object) =>
        path === '/v1/enroll' ? { ...it, certificate: (it as { authority: string }).authority } : it,
      code: 'CERTIFICATE_INVALID',
    },
  ])('refuses an answer with $name', async ({ bend, code }) => {
    await using it = await createOnlineWorld();
    it.hub.bend = bend as never;
    await expect(it.enroll()).rejects.toMatchObject({ code });
    expect(readRoot(it.state)).toBeUndefined();
  });
});

describe('a certificate', () => {
  it('is due for renewal after two thirds of its life, and is renewed over its own connection', async () => {
    await using it = await createOnlineWorld();
    it.hub.issuedAt = addDays(TODAY, -70);
    await it.enroll();
    const old = await findCertificate(it.state.directory);
    const root = readRoot(it.state);
    if (!old || !root) throw new Error('not enrolled');
    expect(isDueForRenewal(old, addDays(TODAY, -30))).toBe(false);
    expect(isDueForRenewal(old, TODAY)).toBe(true);
    it.hub.issuedAt = TODAY;
    const credential = { certificate: old.pem, key: await loadKeyText(it.agent()) };
    await using hub = openHub(it.hub.url, { authorities: root.agentCertificates, credential }, PATIENT);
    await renewCertificate(it.agent(), hub, root);
    expect(it.hub.asked.at(-1)).toBe('POST /v1/certificate as plant-7/kiosk-1');
    const { request, recipient, recipientSignature, at } = JSON.parse(it.agent().identity.request);
    expect(it.hub.renewals).toEqual([{ request, recipient, recipientSignature, at }]);
    expect(recipient).toMatch(/^age1/);
    const fresh = await findCertificate(it.state.directory);
    expect(fresh?.to.getTime()).toBeGreaterThan(old.to.getTime());
    expect(isDueForRenewal(fresh ?? old, TODAY)).toBe(false);
    await expect(
      renewCertificate(it.agent({ edge: testEdge(addDays(TODAY, 4000)) }), hub, root),
    ).rejects.toMatchObject({
      code: 'CERTIFICATE_INVALID',
    });
    await writeFile(certificateFile(it.state.directory), 'no certificate');
    await expect(findCertificate(it.state.directory)).rejects.toMatchObject({ code: 'CERTIFICATE_INVALID' });
  });
});
