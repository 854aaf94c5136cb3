// Vectors of the payment protocols: what is signed, and signatures by a key whose private half is published nowhere.
export const PUBLIC_KEY = `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu6Ud0ljfMxk3A9mGAJlb
4cw6OZYT5/sn766gNs0A060xRjmBpc24HCvXRksABawdDN8tzGG9tzpuJuqN09iE
cplUzYVykA3/V/TIH2o/NzszeE7mmzb53s6dYVUI6zck6RakikkAleeg2jOylooL
aQM4g3VF9dsmTWN8J0s2YQB+MGOCWHgy9i6htRM4HuGehapTkmAEg4/6j/gFVxT9
H9Cz+WQWPXdWaBjTiBbFRhX/kORkEgrRUWyInDjjmJyMsjlPrHsR19wkzeIqACZI
4Sm7XEEmoGmK661QqnYpgvcVzlO0xMvJrAaBIyawWW3S/zvXu29yNELNo/IMNCNk
AQIDAQAB
-----END PUBLIC KEY-----`;

export const vectors = {
  epayKey: "TgTestKey0123456789abcdefABCDEF0",
  epayRequest:
    "money=30.00&name=账户充值&notify_url=https://tollgate.example/api/payment/notify/ep1&out_trade_no=TG20261124000001&pid=1001&return_url=https://tollgate.example/topup&type=alipay",
  epayNotice:
    "money=30.00&name=账户充值&out_trade_no=TG20261124000001&pid=1001&trade_no=2026112410000012345&trade_status=TRADE_SUCCESS&type=alipay",
  epayV2:
    "money=30.00&name=账户充值&out_trade_no=TG20261124000001&pid=1001&timestamp=1795492800&trade_no=2026112410000012345&trade_status=TRADE_SUCCESS&type=alipay",
  epayV2Sign:
    "Sj1J5CJbc5pLQSX01FeeOcDmLXDMMXjG5HQStyyekyOyhZbYWzj74aenU/7TLeWiaRZNmGDgh65V7Nqse1KcAcZL1qtLWCMS9VEXPM6DLvHrAPbtFGD5rvuZ4GyGbDPoQNb39TwH2Rq0nlQgJmEJPNguxJdL/gTNzsuy5Nkkp6m3euvs8arcL/2F/UnxF/9JhHE24FW9gFG3qGELosVXvJI0dq7a+Zu+tWXc0pSCGtPSWeyTZzYQSY3Iw9vPcR5Y59YbtJoMW4okSFZKxEvI3PzHCk/4qXZ7LgBycy07xS8/XQyRQqkth5pyiuzSz4kBEo1s59ZRTfWgXGmCOcHtfQ==",
  stripeSecret: "whsec_tollgate_test_secret_0001",
  stripeBody:
    '{"id":"evt_test_0001","object":"event","type":"checkout.session.completed","data":{"object":{"id":"cs_test_0001","client_reference_id":"TG20261124000001","payment_status":"paid","amount_total":3000,"currency":"cny"}}}',
  alipayRequest:
    'app_id=2021000000000001&biz_content={"out_trade_no":"TG20261124000001","total_amount":"30.00","subject":"账户充值"}&charset=utf-8&format=JSON&method=alipay.trade.precreate&notify_url=https://tollgate.example/api/payment/notify/ali1&sign_type=RSA2&timestamp=2026-11-24 12:00:00&version=1.0',
  alipayNotice:
    "app_id=2021000000000001&auth_app_id=2021000000000001&buyer_id=2088000000000002&buyer_pay_amount=30.00&charset=utf-8&gmt_create=2026-11-24 12:00:10&gmt_payment=2026-11-24 12:00:20&invoice_amount=30.00&notify_id=20261124002220001200000000000001&notify_time=2026-11-24 12:00:21&notify_type=trade_status_sync&out_trade_no=TG20261124000001&point_amount=0.00&receipt_amount=30.00&seller_id=2088000000000001&subject=账户充值&total_amount=30.00&trade_no=2026112422001400000000000001&trade_status=TRADE_SUCCESS&version=1.0",
  alipaySign:
    "dqo6f8d24HO00UmdPUzyDW2uxNgn5mXtVSxYelzZVYkYkBmqswYD9w6HYRAtMn557VwEriryiCFMtRlh48Cg5I013Ff1N/9qrVpX+6QLShG/HSXC6CTZ+IGwOjFfi29VWcnLb7H3p6J/16Fq8iiq0xKjV8U6CdBSOIpOIzdJ2GPCkP03Ts3Q4UqTivQ6Fuujjdct8Q6nASXEGhH4J/hI3C7DZ2ck65h8YR4wCKs52hMrfnU+hbjAqvMhm1UOGwFPdMRatTws/ALYYJOwaOvqiFfBwKFIZMCvGG/ED23JY7/b3Uu/cbaKWX7sCXh7/cbnk6KtCrXWs6v+5yaDFRGbjA==",
  wechatRequest: {
    method: "POST",
    path: "/v3/pay/transactions/native",
    timestamp: "1795492800",
    nonce: "593BEC0C930BF1AFEB40B4A08C8FB242",
    body: '{"appid":"wx0000000000000001","mchid":"1900000001","description":"账户充值","out_trade_no":"TG20261124000001","notify_url":"https://tollgate.example/api/payment/notify/wx1","time_expire":"2026-11-24T12:30:00+08:00","amount":{"total":3000,"currency":"CNY"}}',
  },
  wechatSign:
    "CEsRtISWidCsAE37ippYhNgzOYbmDNnc/uv0QNm3ycv+HiU7RmmAyfn5pNotCVTZzOywhFD1jhcDUkA2/hTvsO4Xn0OhokMtbHa4k0Q9dHM8DMzQJZdQ1+LsSizBFA7QKN5/JIQDqqVLeQCT+U6/G4UoXXEEMPqqcVxNuT6O2d6pZKwm/wqD7L8M2CJBpp3BQLWwBfWyPybPpAswsMFjxX6kbnzobo/HoPkdZKMfhC3V5IfIjQZOusRvNVCiNXSoju0lHWx1IMAXea3nR27JR3lzaR4Y5ADwZF/LGOuPDYVVXkwdqzthcDHgmiQEGhAGIqERNsnEvCh3YzekRuQt9g==",
} as const;
