// The options of the partner plan: what inviters and gift codes get.
import { fields, type Section } from "./section.ts";

export const partnerSection: Section = {
  id: "partner",
  title: "推广返现",
  text: "邀请人与礼品码得到什么、何时可提现。比例为 0 即关闭；改动只影响之后的兑换与订单，推广计划页随之改变。",
  submit: "保存推广设置",
  fields: fields({
    GiftPercent: "填写礼品码时，双方各得充值额度的这一比例。",
    RedeemCommissionPercent: "邀请的用户使用兑换码时，邀请人得到的返现：每美元额度按 0.5 元计，乘以此比例。",
    PayCommissionPercent: "邀请的用户在线充值时，邀请人得到的返现；退款时按比例收回。人工补单没有返现。",
    PayCommissionBase: "按额度：每美元额度按 0.5 元计；按实付：付款金额减去手续费。",
    PlanCommissionPercent: "邀请的用户购买套餐时，邀请人得到套餐价格的这一比例；退款时按比例收回。",
    CommissionFirstOrders: "每位被邀请的用户只有前几笔带来返现，兑换码与订单一并计数，自本版本起计。",
    CommissionFirstDays: "被邀请的用户注册满这些天后，其充值不再带来返现。",
    CommissionMonthYuan: "每位邀请人在一个月（北京时间）内最多得到多少返现；退款收回的部分不腾出余量。",
    CommissionHoldDays:
      "在线付款带来的返现满这些天后才可提现，其间退款从中收回；0 为不冻结。兑换码的返现不冻结。",
    LeastWithdrawalYuan: "一次至少提现多少元；0 为不限。",
  }),
};
